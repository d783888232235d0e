package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// evictionWorld are pools that are nested in each other, of which people edit one at a time. Each
// has a NoExecute taint of its own, so that none overrides another one, or all have the same.
type evictionWorld struct {
	r       *rand.Rand
	cluster Cluster
	shared  bool
	made    int
	steps   []string
	// approved are the taints that somebody has approved on nodes of which the pools have been since.
	approved map[approvedTaint]bool
	// resumed is the pool that the last edit has resumed, and that says what nodes followed last: it
	// was accepted with that.
	resumed string
}

type approvedTaint struct{ pool, value, node string }

const evictionNodes = 40

func newEvictionWorld(t *testing.T, seed uint64) *evictionWorld {
	w := &evictionWorld{r: rand.New(rand.NewPCG(seed, 7)), cluster: Cluster{
		Nodes: inZones(map[string]int{"a": 10, "b": 10, "c": 10, "d": 10}),
	}, approved: map[approvedTaint]bool{}}
	w.shared = w.r.IntN(2) == 0
	for range 2 + w.r.IntN(3) {
		w.create()
	}
	w.cluster = carriedOut(t, w.cluster)
	return w
}

// create adds a pool of no node.
func (w *evictionWorld) create() {
	pool := ofZone(fmt.Sprintf("p%d", w.made), "nowhere")
	w.made++
	key := "example.com/" + pool.Name
	if w.shared {
		key = "example.com/shared"
	}
	pool.Spec.Taints = []v1.Taint{{Key: key, Value: "1", Effect: "NoExecute"}}
	if at := len(w.cluster.Pools); at > 0 {
		pool.Spec.Parent = w.cluster.Pools[w.r.IntN(at)].Name
	}
	w.cluster.Pools = append(w.cluster.Pools, pool)
	w.steps = append(w.steps, fmt.Sprintf("create %s within %q", pool.Name, pool.Spec.Parent))
}

// edit is what somebody does to one pool.
func (w *evictionWorld) edit() {
	w.resumed = ""
	if len(w.cluster.Pools) < 2 {
		w.create()
		return
	}
	at := w.r.IntN(len(w.cluster.Pools))
	pool := w.cluster.Pools[at]
	name, what, change := pool.Name, "pause", pause
	if !pool.DeletionTimestamp.IsZero() { // it is held
		return
	}
	switch w.r.IntN(8) {
	case 7:
		what, change = "delete", deleted
	case 0:
		if v1.IsDisabled(pool, v1.ReconcileAnnotation) {
			what, change = "resume", resume
			if pool.Status.ObservedMembership == Membership(pool) {
				w.resumed = name
			}
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

// approve has somebody follow the commands of the pools that are held.
func (w *evictionWorld) approve(t *testing.T) {
	held := HeldReleases(w.cluster.Pools, w.cluster.Nodes)
	for name, block := range held {
		_, value, _ := strings.Cut(block.Error(), v1.ApproveReleaseAnnotation+"=")
		value, _, _ = strings.Cut(value, ";")
		w.cluster.Pools = edited(w.cluster.Pools, name, func(pool *v1.NodePool) { approvedBy(strings.Trim(value, "'"))(pool); pool.Generation-- })
		w.steps = append(w.steps, name+": approve "+value)
	}
	w.cluster = carriedOut(t, w.cluster)
	pools := byName(w.cluster.Pools)
	for wanted := range w.wanted() {
		if held[wanted.pool] != nil || pools.isNestedInAny(wanted.pool, func(outer string) bool { return held[outer] != nil }) {
			w.approved[wanted] = true
		}
	}
}

// wanted are the taints that pools want on their nodes, whichever has its way there.
func (w *evictionWorld) wanted() map[approvedTaint]bool {
	wanted, pools, expansion := map[approvedTaint]bool{}, byName(w.cluster.Pools), Expand(w.cluster.Pools, w.cluster.Nodes)
	for _, node := range w.cluster.Nodes {
		for _, pool := range expansion.Members(node.Name, node.Labels) {
			wanted[approvedTaint{pool, pools.get(pool).Spec.Taints[0].Value, node.Name}] = true
		}
	}
	return wanted
}

// unapproved counts the nodes that have a NoExecute taint which they had not, but for those of
// which it was accepted: it was another pool that had its way there so far.
func (w *evictionWorld) unapproved(t *testing.T, before []*NodeState) (count int) {
	t.Helper()
	for i, node := range w.cluster.Nodes {
		record, err := readRecord(node)
		if err != nil {
			t.Fatal(err)
		}
		for _, taint := range node.Taints {
			pool := record.Taints[render.TaintID{Key: taint.Key, Effect: taint.Effect}].Pool
			if !slices.Contains(before[i].Taints, taint) && pool != w.resumed && !w.approved[approvedTaint{pool, taint.Value, node.Name}] {
				count++
				break
			}
		}
	}
	wanted := w.wanted()
	maps.DeleteFunc(w.approved, func(taint approvedTaint, _ bool) bool { return !wanted[taint] })
	return count
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

// lostBy returns a pool that has lost more than half of the nodes it had, and was not deleted;
// empty where none has.
func lostBy(pools []*v1.NodePool, before, after []*NodeState) string {
	had, has := carriersOf(before), carriersOf(after)
	for _, pool := range pools {
		if count := had[pool.Name]; pool.DeletionTimestamp.IsZero() && count >= v1.MinReleaseLimited && 2*has[pool.Name] < count {
			return pool.Name
		}
	}
	return ""
}

// No edit evicts from more than half of the nodes, or takes them out of a pool, before somebody
// approves that, whatever was paused, held, approved and undone before; where edits wait that came
// earlier, each of them counts by itself.
func TestNoEditEvictsFromMostNodes(t *testing.T) {
	evicted, held := 0, 0
	for seed := range uint64(worlds) {
		w := newEvictionWorld(t, seed)
		for range 15 {
			waiting := 0
			for _, pool := range w.cluster.Pools {
				if pool.Status.ObservedMembership != Membership(pool) || !pool.DeletionTimestamp.IsZero() {
					waiting++
				}
			}
			w.edit()
			before := w.cluster.Nodes
			w.cluster = carriedOut(t, w.cluster)
			count := w.unapproved(t, before)
			if most := evictionNodes / 2 * max(1, waiting); count > most {
				t.Fatalf("seed %d: %d of %d nodes get a NoExecute taint by the last of these edits, and nobody has approved that:\n%s", seed, count, evictionNodes, strings.Join(w.steps, "\n"))
			}
			if pool := lostBy(w.cluster.Pools, before, w.cluster.Nodes); pool != "" && waiting < 2 {
				t.Fatalf("seed %d: more than half of its nodes leave pool %s by the last of these edits, and nobody has approved that:\n%s", seed, pool, strings.Join(w.steps, "\n"))
			}
			evicted += count
			if len(heldNames(w.cluster)) > 0 {
				held++
				if w.r.IntN(4) == 0 {
					w.approve(t)
				}
			}
		}
	}
	if evicted == 0 || held == 0 {
		t.Errorf("%d evictions, %d steps with a pool that is held: the test has shown nothing", evicted, held)
	}
	t.Logf("%d worlds: %d evictions, after %d steps a pool is held", worlds, evicted, held)
}
