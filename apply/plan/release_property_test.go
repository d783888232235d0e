package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Whatever people do to pools without an approval, and in whatever order nodes
// follow and the controller is killed and reports: no edit takes more nodes out of a
// pool than the limit, no deletion of several releases more than that of all, and a
// pool that is gone releases none.
func TestReleasesStayWithinTheLimit(t *testing.T) {
	const rounds = 600
	seen := map[string]int{}
	for seed := range uint64(rounds) {
		w := newReleaseWorld(t, rand.New(rand.NewPCG(seed, 7)))
		change := w.change()
		before := w.cluster
		carriers, carrying := carriersOf(before.Nodes), carryingOf(before.Nodes)
		w.follow()
		seen[change]++
		if len(HeldReleases(w.cluster.Pools, w.cluster.Nodes)) > 0 {
			seen[change+" held"]++
		}
		after := carriersOf(w.cluster.Nodes)
		switch change {
		case "edit":
			for pool, was := range carriers {
				if lost := was - after[pool]; was >= v1.MinReleaseLimited && lost > (was+1)/2 {
					t.Errorf("seed %d: %d of %d nodes left pool %s", seed, lost, was, pool)
				}
			}
		case "delete several":
			lost := 0
			for i, node := range before.Nodes {
				if lostAny(node, w.cluster.Nodes[i]) {
					lost++
				}
			}
			if severalGo(before.Pools, carriers) && carrying >= v1.MinReleaseLimited && lost > (carrying+1)/2 {
				t.Errorf("seed %d: deletions took keys off %d of %d nodes", seed, lost, carrying)
			}
		case "vanish":
			for pool, was := range carriers {
				if carrying >= v1.MinReleaseLimited && after[pool] < was {
					t.Errorf("seed %d: pool %s is gone, and %d of %d nodes still carry keys of it", seed, pool, after[pool], was)
				}
			}
		}
	}
	for _, change := range []string{"edit", "edit held", "delete several", "delete several held", "vanish", "vanish held"} {
		if seen[change] == 0 {
			t.Errorf("%q never happened: %v", change, seen)
		}
	}
}

// releaseWorld is a cluster that is idle at first.
type releaseWorld struct {
	t       *testing.T
	r       *rand.Rand
	cluster Cluster
}

var zoneNames = []string{"a", "b", "c"}

func newReleaseWorld(t *testing.T, r *rand.Rand) *releaseWorld {
	w := &releaseWorld{t: t, r: r}
	counts := map[string]int{}
	for _, name := range zoneNames {
		counts[name] = r.IntN(14)
	}
	w.cluster.Nodes = inZones(counts)
	for i := range 2 + r.IntN(4) {
		pool := ofZone(fmt.Sprintf("p%d", i), w.zones()...)
		if i > 0 && r.IntN(3) == 0 {
			pool.Spec.Parent = fmt.Sprintf("p%d", r.IntN(i))
		}
		w.cluster.Pools = append(w.cluster.Pools, pool)
	}
	w.cluster = carriedOut(t, w.cluster)
	return w
}

func (w *releaseWorld) zones() []string {
	var names []string
	for _, name := range append(zoneNames, "x") {
		if w.r.IntN(2) == 0 {
			names = append(names, name)
		}
	}
	return append(names, "y")
}

// change is what somebody does to pools.
func (w *releaseWorld) change() string {
	pools := w.cluster.Pools
	switch w.r.IntN(3) {
	case 0:
		w.cluster.Pools = edited(pools, pools[w.r.IntN(len(pools))].Name, zones(w.zones()...))
		return "edit"
	case 1:
		for _, i := range w.r.Perm(len(pools))[:2+w.r.IntN(len(pools)-1)] {
			w.cluster.Pools = edited(w.cluster.Pools, pools[i].Name, deleted)
		}
		return "delete several"
	default:
		kept := []*v1.NodePool{}
		for _, pool := range pools {
			if w.r.IntN(2) == 0 {
				kept = append(kept, pool)
			}
		}
		w.cluster.Pools = kept
		return "vanish"
	}
}

// follow lets some nodes follow at a time, in any order; the controller reports, or
// does not, until it decides anew. In the end all have followed.
func (w *releaseWorld) follow() {
	for range 4 {
		w.some(0.3)
		if w.r.IntN(2) == 0 {
			w.cluster = w.reportHolds()
		}
	}
	for range 3 {
		w.some(1)
	}
}

func (w *releaseWorld) some(share float64) {
	expansion := Expand(w.cluster.Pools, w.cluster.Nodes)
	nodes := make([]*NodeState, 0, len(w.cluster.Nodes))
	for _, node := range w.cluster.Nodes {
		p, err := Node(node, expansion)
		if err != nil {
			w.t.Fatal(err)
		}
		if w.r.Float64() < share {
			node = p.After(node)
		}
		nodes = append(nodes, node)
	}
	w.cluster.Nodes = nodes
}

// reportHolds reports what is held, and not yet what is carried out: nodes still
// have to follow.
func (w *releaseWorld) reportHolds() Cluster {
	next := report(w.cluster)
	for i, pool := range next.Pools {
		pool.Status.ObservedMembership = w.cluster.Pools[i].Status.ObservedMembership
	}
	return next
}

func carryingOf(nodes []*NodeState) int {
	count := 0
	for _, node := range nodes {
		if record, err := readRecord(node); err == nil && !record.Empty() {
			count++
		}
	}
	return count
}

// severalGo reports whether more than one pool that nodes carry keys of is deleted,
// or every pool is: the deletion of one is meant as it is asked for.
func severalGo(pools []*v1.NodePool, carriers map[string]int) bool {
	going, stays := 0, false
	for _, pool := range pools {
		if pool.DeletionTimestamp.IsZero() {
			stays = true
		} else if carriers[pool.Name] > 0 {
			going++
		}
	}
	return going > 1 || !stays
}

// lostAny reports whether a node carries keys of fewer pools.
func lostAny(before, after *NodeState) bool {
	was, errWas := readRecord(before)
	is, errIs := readRecord(after)
	if errWas != nil || errIs != nil {
		return false
	}
	carries := is.Pools()
	for pool := range was.Pools() {
		if !carries[pool] {
			return true
		}
	}
	return false
}
