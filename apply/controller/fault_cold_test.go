package controller

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// reads are the requests that fill a cache.
var reads = []string{"list", "watch"}

// chance is how long the loops get to do what they must not do. What they do
// wrongly they do at once.
const chance = 700 * time.Millisecond

// The loops start while nodes carry keys of pools that are not in the cache yet,
// or not wholly, and nodes change: they write nothing at all. When the caches are
// filled they find all as it should be, and still write nothing.
func TestFaultColdCache(t *testing.T) {
	cluster.Long(t)
	w := newFaultWorld(t, cluster.Shared(t))
	s := newScene(w)
	s.runs()
	s.becomesIdle()

	poolsThat := func(fault cluster.Fault) []cluster.Fault {
		fault.Verbs, fault.Resources = reads, []string{"nodepools"}
		return []cluster.Fault{fault}
	}
	type cold struct {
		name, reason string
		faults       func(never <-chan struct{}) []cluster.Fault
	}
	cases := []cold{
		{"pools are asked for in vain", "no answer is not an empty one", func(never <-chan struct{}) []cluster.Fault {
			return poolsThat(cluster.Fault{Hold: never})
		}},
		{"pools begin to come", "a stream without an event is not an empty cluster", func(never <-chan struct{}) []cluster.Fault {
			return poolsThat(cluster.Fault{HoldAnswer: never})
		}},
		{"pools come in part", "a stream that ends before its bookmark, or a list within it, is no list", func(<-chan struct{}) []cluster.Fault {
			return poolsThat(cluster.Fault{CutAfter: 300})
		}},
		{"pools are refused", "a refusal is not an empty answer", func(<-chan struct{}) []cluster.Fault {
			return poolsThat(cluster.Fault{Code: http.StatusInternalServerError})
		}},
		{"pools are dropped", "an answer that was lost is not an empty one", func(<-chan struct{}) []cluster.Fault {
			return poolsThat(cluster.Fault{DropAnswer: true})
		}},
	}
	for _, kind := range kinds {
		if kind != "nodepools" {
			cases = append(cases, cold{kind + " are asked for in vain", "each kind may be the last", func(never <-chan struct{}) []cluster.Fault {
				return []cluster.Fault{{Verbs: reads, Resources: []string{kind}, Hold: never}}
			}})
		}
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			outer := s.t
			s.in(t)
			defer s.in(outer)
			s.stop()
			never := make(chan struct{})
			began, mark := time.Now(), s.mark()
			faults := tc.faults(never)
			s.proxy.Disturb(faults...)
			s.in(outer).start() // they run until the next case
			s.in(t).cachesFillBut(began, faults[0].Resources[0])
			s.everyoneTurns()
			time.Sleep(chance)
			s.wroteNothing(mark, tc.reason)
			s.proxy.Disturb()
			close(never)
			s.settle()
			s.stands(true)
			s.wroteNothing(mark, "all was as it should be")
		})
	}
}

// The caches are filled in every order in which pools come last.
func TestFaultColdCacheInEveryOrder(t *testing.T) {
	cluster.Long(t)
	w := newFaultWorld(t, cluster.Shared(t))
	s := newScene(w)
	s.runs()
	s.becomesIdle()
	orders := permutations(slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return kind == "nodepools" }))
	for _, order := range orders {
		s.stop()
		began, mark := time.Now(), s.mark()
		gates := map[string]chan struct{}{}
		var faults []cluster.Fault
		for _, kind := range kinds {
			gates[kind] = make(chan struct{})
			faults = append(faults, cluster.Fault{Verbs: reads, Resources: []string{kind}, Hold: gates[kind]})
		}
		s.proxy.Disturb(faults...)
		s.start()
		for _, kind := range order {
			close(gates[kind])
			s.cacheFills(began, kind)
			s.everyoneTurns()
		}
		time.Sleep(chance)
		s.wroteNothing(mark, fmt.Sprintf("pools are still to come after %v", order))
		close(gates["nodepools"])
		s.settle()
		s.stands(true)
		s.wroteNothing(mark, fmt.Sprintf("all was as it should be, after %v", order))
		s.proxy.Disturb()
	}
}

func permutations(of []string) [][]string {
	if len(of) == 0 {
		return [][]string{nil}
	}
	var all [][]string
	for i, first := range of {
		for _, rest := range permutations(slices.Delete(slices.Clone(of), i, i+1)) {
			all = append(all, append([]string{first}, rest...))
		}
	}
	return all
}

// While the loops run, what they hear of pools is cut off, and stays away: they
// go on with what they know, and lose none of it.
func TestFaultCacheFallsBehind(t *testing.T) {
	cluster.Long(t)
	w := newFaultWorld(t, cluster.Shared(t))
	s := newScene(w)
	s.runs()
	s.becomesIdle()
	never := make(chan struct{})
	began, mark := time.Now(), s.mark()
	s.proxy.Disturb(cluster.Fault{Verbs: reads, Resources: []string{"nodepools"}, Hold: never})
	if s.proxy.CutWatches("nodepools") == 0 {
		t.Fatal("nobody watches pools")
	}
	s.disturbed(began, 1)
	s.everyoneTurns()
	time.Sleep(chance)
	s.wroteNothing(mark, "nothing is known of a change")

	// What was known holds still.
	s.changeNode("fault-00", func(node *corev1.Node) { delete(node.Labels, "fleet-version") })
	s.stands(true)
	// What changes now is not heard of, and not acted on.
	known := s.version
	s.change()
	s.version, known = known, s.version
	s.everyoneTurns()
	time.Sleep(chance)
	s.stands(true)

	s.version = known
	s.proxy.Disturb()
	close(never)
	s.stands(true)
	s.becomesIdle()
}

// A source whose pools are not in the cache yet makes none of them again and
// prunes none, though its repository has moved on.
func TestFaultColdCacheOfSource(t *testing.T) {
	cluster.Long(t)
	fw := newFaultWorld(t, cluster.Shared(t))
	w := &gitWorld{world: fw.world, log: &logLines{}}
	start := func() {
		w.world.stop = runLoops(t, w.config, Options{FetchTimeout: 3 * time.Second, MaxRetry: time.Second}, funcr.New(w.log.add, funcr.Options{}))
	}
	repo := newRepository(t)
	first := repo.commit(files{"pools/a.yaml": poolFile("a", "0"), "pools/b.yaml": poolFile("b", "0"), "pools/c.yaml": poolFile("c", "0")})
	w.node("a1", role("a"))
	start()
	w.source("cold", repo.url())
	w.follows("cold", first)
	w.poolsReady("a", "b", "c")
	w.carries("a1", tiers("a", "0"))
	w.world.stop()

	second := repo.commit(files{"pools/a.yaml": poolFile("a", "1"), "pools/c.yaml": ""})
	never := make(chan struct{})
	began, mark := time.Now(), fw.mark()
	fw.proxy.Disturb(cluster.Fault{Verbs: reads, Resources: []string{"nodepools"}, Hold: never})
	start()
	fw.cachesFillBut(began, "nodepools")
	time.Sleep(chance)
	fw.wroteNothing(mark, "its pools are not known")
	fw.proxy.Disturb()
	close(never)
	w.follows("cold", second)
	w.poolsAre("a", "b")
	w.carries("a1", tiers("a", "1"))
	for _, write := range fw.writesSince(mark) {
		if write.Object.Resource == "nodepools" && (write.Object.Name == "b" && write.Object.Subresource == "" || write.Verb == "create") {
			t.Errorf("this pool was as it should be: %s", write)
		}
	}
}

// cachesFillBut waits until all kinds were answered but one, which was asked for.
func (w *faultWorld) cachesFillBut(since time.Time, missing string) {
	w.t.Helper()
	for _, kind := range kinds {
		if kind != missing {
			w.cacheFills(since, kind)
		}
	}
	w.disturbed(since, 1)
}

// cacheFills waits until a kind was answered.
func (w *faultWorld) cacheFills(since time.Time, kind string) {
	w.t.Helper()
	w.eventually(kind+" come", func() error {
		for _, passage := range w.proxy.Seen(since) {
			if passage.Object.Resource == kind && slices.Contains(reads, passage.Verb) && passage.Code == http.StatusOK {
				return nil
			}
		}
		return fmt.Errorf("nobody was answered")
	})
}

// wroteNothing fails the test when the loops have written since a mark.
func (w *faultWorld) wroteNothing(since int64, reason string) {
	w.t.Helper()
	for _, write := range w.writesSince(since) {
		w.t.Errorf("write without a reason: %s: %s", write, reason)
	}
}
