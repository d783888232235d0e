package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// evictionWorld are pools that are nested in each other, of which people edit one at a time. Each
// has a NoExecute taint of its own, so that none overrides another one.
type evictionWorld struct {
	r       *rand.Rand
	cluster Cluster
	steps   []string
}

const evictionNodes = 40

func newEvictionWorld(t *testing.T, seed uint64) *evictionWorld {
	w := &evictionWorld{r: rand.New(rand.NewPCG(seed, 7)), cluster: Cluster{
		Nodes: inZones(map[string]int{"a": 10, "b": 10, "c": 10, "d": 10}),
	}}
	for i := range 2 + w.r.IntN(3) {
		pool := ofZone(fmt.Sprintf("p%d", i), "nowhere")
		pool.Spec.Taints = []v1.Taint{{Key: "example.com/" + pool.Name, Value: "1", Effect: "NoExecute"}}
		if i > 0 {
			pool.Spec.Parent = fmt.Sprintf("p%d", w.r.IntN(i))
		}
		w.cluster.Pools = append(w.cluster.Pools, pool)
	}
	w.cluster = carriedOut(t, w.cluster)
	return w
}

// edit is what somebody does to one pool.
func (w *evictionWorld) edit() {
	at := w.r.IntN(len(w.cluster.Pools))
	pool := w.cluster.Pools[at]
	name, what, change := pool.Name, "pause", pause
	switch w.r.IntN(6) {
	case 0:
		if v1.IsDisabled(pool, v1.ReconcileAnnotation) {
			what, change = "resume", resume
		}
		w.cluster.Pools = edited(w.cluster.Pools, name, func(pool *v1.NodePool) { change(pool); pool.Generation-- })
		w.steps = append(w.steps, name+": "+what)
		return
	case 1:
		value := fmt.Sprint(w.r.IntN(3))
		what, change = "taint "+value, func(pool *v1.NodePool) { pool.Spec.Taints[0].Value = value }
	case 2:
		parent := ""
		if at > 0 && w.r.IntN(3) > 0 {
			parent = w.cluster.Pools[w.r.IntN(at)].Name
		}
		what, change = "within "+parent, func(pool *v1.NodePool) { pool.Spec.Parent = parent }
	default:
		var chosen []string
		for _, zone := range []string{"a", "b", "c", "d"} {
			if w.r.IntN(2) == 0 {
				chosen = append(chosen, zone)
			}
		}
		chosen = append(chosen, "nowhere")
		what, change = strings.Join(chosen, ","), zones(chosen...)
	}
	w.cluster.Pools = edited(w.cluster.Pools, name, change)
	w.steps = append(w.steps, name+": "+what)
}

// evictedBy counts the nodes that have a NoExecute taint which they had not.
func evictedBy(before, after []*NodeState) (count int) {
	for i, node := range after {
		for _, taint := range node.Taints {
			if !slices.Contains(before[i].Taints, taint) {
				count++
				break
			}
		}
	}
	return count
}

// lostBy returns a pool that has lost more than half of the nodes it had; empty where none has.
func lostBy(before, after []*NodeState) string {
	had, has := carriersOf(before), carriersOf(after)
	for pool, count := range had {
		if count >= v1.MinReleaseLimited && 2*has[pool] < count {
			return pool
		}
	}
	return ""
}

// Nobody approves anything, so that no edit evicts from more than half of the nodes, or takes
// them out of a pool, whatever was paused, held and undone before; where edits wait that came
// earlier, each of them counts by itself.
func TestNoEditEvictsFromMostNodes(t *testing.T) {
	evicted, held := 0, 0
	for seed := range uint64(worlds) {
		w := newEvictionWorld(t, seed)
		for range 15 {
			waiting := 0
			for _, pool := range w.cluster.Pools {
				if pool.Status.ObservedMembership != Membership(pool) {
					waiting++
				}
			}
			w.edit()
			before := w.cluster.Nodes
			w.cluster = carriedOut(t, w.cluster)
			count := evictedBy(before, w.cluster.Nodes)
			if most := evictionNodes / 2 * max(1, waiting); count > most {
				t.Fatalf("seed %d: %d of %d nodes get a NoExecute taint by the last of these edits, and nobody has approved that:\n%s", seed, count, evictionNodes, strings.Join(w.steps, "\n"))
			}
			if pool := lostBy(before, w.cluster.Nodes); pool != "" && waiting < 2 {
				t.Fatalf("seed %d: more than half of its nodes leave pool %s by the last of these edits, and nobody has approved that:\n%s", seed, pool, strings.Join(w.steps, "\n"))
			}
			evicted += count
			if len(heldNames(w.cluster)) > 0 {
				held++
			}
		}
	}
	if evicted == 0 || held == 0 {
		t.Errorf("%d evictions, %d steps with a pool that is held: the test has shown nothing", evicted, held)
	}
	t.Logf("%d worlds: %d evictions, after %d steps a pool is held", worlds, evicted, held)
}
