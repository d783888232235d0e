package controller

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// Watches end every few minutes, and when the network fails. The caches then go on
// from where they were: to read thousands of nodes anew costs everybody, and all
// clients of an API server lose their watches at the same time.
func TestNoRelistWhenWatchesEnd(t *testing.T) {
	cluster.Long(t)
	cases := map[string]struct {
		reason string
		end    func(*cluster.Proxy) int
		whole  int // requests for all objects of a kind, per end
	}{
		"their time is over": {"the next one begins where the last one ended", func(p *cluster.Proxy) int { return p.EndWatches() }, 0},
		"they break off":     {"each kind is read once at the most", func(p *cluster.Proxy) int { return p.CutWatches() }, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFaultWorld(t, cluster.Shared(t))
			w.fleet(5)
			w.approvedPool(tenantPool)
			w.start()
			w.isReady("tenant", 5)
			began := time.Now()
			const ends = 2
			for i := range ends {
				time.Sleep(time.Second + time.Second/4) // one that ends at once is taken for a failure
				at := time.Now()
				if ended := tc.end(w.proxy); ended != len(kinds) {
					t.Fatalf("%d watches have ended, want one of each of %v", ended, kinds)
				}
				for _, kind := range kinds {
					w.watchesAgain(kind, at)
				}
				// What happens from now on is heard of.
				node := fmt.Sprintf("fleet-%02d", i)
				w.changeNode(node, func(node *corev1.Node) { delete(node.Labels, "tenant") })
				w.eventually("node "+node+" has its label back", func() error { return wantLabel(w.get(node), "tenant", "a") })
			}
			whole, watches := map[string]int{}, map[string]int{}
			for _, passage := range w.proxy.Seen(began) {
				// An API server that cannot stream them refuses that, and is asked for a list.
				if passage.Whole && passage.Code < 400 {
					whole[passage.Object.Resource]++
				}
				if passage.Verb == "watch" {
					watches[passage.Object.Resource]++
				}
			}
			t.Logf("%d times: watches %v, of which from the beginning %v", ends, watches, whole)
			for _, kind := range kinds {
				if whole[kind] > ends*tc.whole {
					t.Errorf("%s were read %d times from the beginning: %s", kind, whole[kind], tc.reason)
				}
				if watches[kind] > 2*ends {
					t.Errorf("%s were watched anew %d times for %d ends", kind, watches[kind], ends)
				}
			}
		})
	}
}

// watchesAgain waits until a watch of a kind was answered since a moment.
func (w *faultWorld) watchesAgain(kind string, since time.Time) {
	w.t.Helper()
	w.eventually(kind+" are watched again", func() error {
		for _, passage := range w.proxy.Seen(since) {
			if passage.Object.Resource == kind && passage.Verb == "watch" && passage.Code == 200 {
				return nil
			}
		}
		return fmt.Errorf("no watch has come")
	})
}
