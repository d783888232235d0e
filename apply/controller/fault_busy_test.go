package controller

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// An API server that has too much to do gets half as many writes at once, and in
// the end all of them, each once more than it was refused.
func TestFaultOfABusyServer(t *testing.T) {
	cluster.Long(t)
	const fleet, concurrency = 24, 8
	w := newFaultWorld(t, cluster.Shared(t))
	w.fleet(fleet)
	w.approvedPool(tenantPool)

	patches := func(since time.Time) []cluster.Passage {
		return slices.DeleteFunc(w.proxy.Seen(since), func(p cluster.Passage) bool {
			return p.Verb != "patch" || p.Object.Resource != "nodes" || p.Object.Subresource != ""
		})
	}
	underWay := func(what string, want int, since time.Time) {
		t.Helper()
		w.eventually(what, func() error {
			if n := len(patches(since)); n != want {
				return fmt.Errorf("%d patches have come, want %d", n, want)
			}
			return nil
		})
	}
	busy, better := make(chan struct{}), make(chan struct{})
	onNodes := cluster.Fault{Verbs: []string{"patch"}, Resources: []string{"nodes"}}
	refused, held := onNodes, onNodes
	refused.Hold, refused.Code, refused.RetryAfter, refused.Times = busy, http.StatusTooManyRequests, 1, concurrency
	held.Hold = better
	w.proxy.Disturb(refused, held)

	began := time.Now()
	w.stop = runLoops(t, w.config, Options{Concurrency: concurrency}, testr.NewWithOptions(t, testr.Options{Verbosity: -1}))
	underWay("as many writes as may be are under way", concurrency, began)
	close(busy)
	underWay("half as many come after that", concurrency+concurrency/2, began)
	w.proxy.Disturb()
	close(better)
	w.isReady("tenant", fleet)

	codes := map[int]int{}
	all := patches(began)
	for _, passage := range all {
		codes[passage.Code]++
	}
	// A conflict is somebody else's write, such as a heartbeat.
	if codes[http.StatusOK] != fleet || codes[http.StatusTooManyRequests] != concurrency ||
		len(all) != fleet+concurrency+codes[http.StatusConflict] {
		t.Errorf("%d writes of %d nodes, by answer: %v", len(all), fleet, codes)
	}
	if most := mostAtOnce(all); most > concurrency {
		t.Errorf("%d writes were under way at once, want %d at most", most, concurrency)
	}
}

// mostAtOnce is how many passages overlapped at most.
func mostAtOnce(passages []cluster.Passage) int {
	type step struct {
		when time.Time
		by   int
	}
	var steps []step
	for _, p := range passages {
		steps = append(steps, step{p.Came, +1}, step{p.Answered, -1})
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(a.when.Compare(b.when), cmp.Compare(a.by, b.by)) })
	most, now := 0, 0
	for _, s := range steps {
		now += s.by
		most = max(most, now)
	}
	return most
}
