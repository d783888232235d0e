package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// revisionWorld is a repository of pools, and a cluster that follows it.
type revisionWorld struct {
	r       *rand.Rand
	cluster Cluster
	// pools are those of the last commit. One whose revision is held back stays in the repository.
	pools []*v1.NodePool
	made  int
	steps []string
}

func newRevisionWorld(seed uint64) *revisionWorld {
	w := &revisionWorld{r: rand.New(rand.NewPCG(seed, 8)), cluster: Cluster{
		Nodes: inZones(map[string]int{"a": 10, "b": 10, "c": 10, "d": 10}),
	}}
	for i, node := range w.cluster.Nodes { // what an installer has labelled
		node.Labels[v1.RoleLabel("worker")] = ""
		if i%4 == 0 {
			annotate(node, v1.ReconcileAnnotation, v1.Disabled)
		}
	}
	for range 2 {
		w.create()
	}
	return w
}

func (w *revisionWorld) create() {
	pool := ofZone(fmt.Sprintf("p%d", w.made), "nowhere")
	if w.r.IntN(4) == 0 && !slices.ContainsFunc(w.pools, func(pool *v1.NodePool) bool { return pool.Name == "worker" }) {
		pool = byRole("worker")
	}
	w.made++
	pool.Spec.Priority = int32(w.r.IntN(3))
	w.taint(pool)
	w.pools = append(w.pools, pool)
	w.nest(len(w.pools) - 1)
	w.steps = append(w.steps, fmt.Sprintf("create %s of priority %d", pool.Name, pool.Spec.Priority))
}

// taint gives a pool the NoExecute taint that all pools have, one of its own, or none.
func (w *revisionWorld) taint(pool *v1.NodePool) {
	key := []string{"shared", "shared", pool.Name, ""}[w.r.IntN(4)]
	pool.Spec.Taints = nil
	if key != "" {
		pool.Spec.Taints = []v1.Taint{{Key: "example.com/" + key, Value: fmt.Sprint(w.r.IntN(3)), Effect: "NoExecute"}}
	}
	w.steps = append(w.steps, fmt.Sprintf("%s: taints %v", pool.Name, pool.Spec.Taints))
}

// nest moves a pool into one that is before it in the list, or out of all.
func (w *revisionWorld) nest(at int) {
	pool := w.pools[at]
	pool.Spec.Parent = ""
	if at > 0 && w.r.IntN(3) > 0 {
		pool.Spec.Parent = w.pools[w.r.IntN(at)].Name
	}
	w.steps = append(w.steps, fmt.Sprintf("%s: within %q", pool.Name, pool.Spec.Parent))
}

// edit is one change of one pool.
func (w *revisionWorld) edit() {
	if len(w.pools) < 2 || w.r.IntN(8) == 0 {
		w.create()
		return
	}
	at := w.r.IntN(len(w.pools))
	pool := w.pools[at].DeepCopy()
	w.pools[at] = pool
	switch w.r.IntN(7) {
	case 0, 1:
		w.taint(pool)
	case 2:
		w.nest(at)
	case 3:
		pool.Spec.Priority = int32(w.r.IntN(3))
		w.steps = append(w.steps, fmt.Sprintf("%s: priority %d", pool.Name, pool.Spec.Priority))
	case 4:
		w.pools = slices.Delete(w.pools, at, at+1)
		w.steps = append(w.steps, pool.Name+": delete")
	default:
		if pool.Spec.Selector == nil {
			return
		}
		chosen := []string{"nowhere"}
		for _, zone := range []string{"a", "b", "c", "d"} {
			if w.r.IntN(2) == 0 {
				chosen = append(chosen, zone)
			}
		}
		zones(chosen...)(pool)
		w.steps = append(w.steps, fmt.Sprintf("%s: %v", pool.Name, chosen))
	}
}

// revision is a commit of some edits.
func (w *revisionWorld) revision(number int) Revision {
	w.steps = append(w.steps, fmt.Sprintf("revision %d:", number))
	for range 1 + w.r.IntN(3) {
		w.edit()
	}
	var pools []*v1.NodePool
	for _, pool := range w.pools {
		pools = append(pools, pool.DeepCopy())
	}
	return revisionOfPools(fmt.Sprintf("main@sha1:%d", number), ReleasePolicy{}, pools...)
}

// resumed is a cluster in which no node is paused, and that has followed.
func resumed(t *testing.T, cluster Cluster) Cluster {
	t.Helper()
	nodes := make([]*NodeState, 0, len(cluster.Nodes))
	for _, node := range cluster.Nodes {
		node = node.DeepCopy()
		delete(node.Annotations, v1.ReconcileAnnotation)
		nodes = append(nodes, node)
	}
	return carriedOut(t, Cluster{Pools: cluster.Pools, Nodes: nodes})
}

// No revision of a source that nobody has approved evicts from more than half of the nodes, or
// takes more than half of its own out of a pool that stays, also when paused nodes have followed
// it, whatever the revisions before were, and whether they were held back or approved.
func TestNoRevisionEvictsFromMostNodes(t *testing.T) {
	evicted, held := 0, 0
	for seed := range uint64(worlds) {
		w := newRevisionWorld(seed)
		for number := range 12 {
			revision := w.revision(number)
			d, err := Diff(revision, w.cluster)
			if err != nil {
				t.Fatal(err)
			}
			carried := carriersOf(w.cluster.Nodes)
			before := resumed(t, w.cluster)
			w.cluster = d.After(w.cluster)
			after := resumed(t, w.cluster)
			count := evictedBy(before.Nodes, after.Nodes)
			if count > evictionNodes/2 {
				t.Fatalf("seed %d: %d of %d nodes get a NoExecute taint by the last of these revisions, and nobody has approved that:\n%s", seed, count, evictionNodes, strings.Join(w.steps, "\n"))
			}
			// What has not followed an earlier revision yet, and is paused by this one, is not lost.
			if pool := lostBy(after.Pools, before.Nodes, after.Nodes); pool != "" && 2*carriersOf(after.Nodes)[pool] < carried[pool] {
				t.Fatalf("seed %d: more than half of its nodes leave pool %s by the last of these revisions, and nobody has approved that:\n%s", seed, pool, strings.Join(w.steps, "\n"))
			}
			evicted += count
			if d.Pools.Held != nil {
				held++
				if w.r.IntN(4) == 0 {
					revision.Release.Approval = revision.Name
					w.cluster = appliedRevision(t, revision, w.cluster)
					w.steps = append(w.steps, "approved")
				}
			}
		}
	}
	if evicted == 0 || held == 0 {
		t.Errorf("%d evictions, %d revisions that were held: the test has shown nothing", evicted, held)
	}
	t.Logf("%d worlds: %d evictions, and %d revisions were held back", worlds, evicted, held)
}

// No edit by hand that nobody has approved puts a NoExecute taint on more than half of the nodes,
// takes more than half of its nodes out of a pool that stays, or the last one, whatever was edited,
// held, and undone before. What it waits for is not lost: where the edits are approved, nodes
// follow all of them.
func TestNoEditTakesMostNodes(t *testing.T) {
	held, evicted, left := 0, 0, 0
	for seed := range uint64(worlds) {
		w := newRevisionWorld(seed)
		for range 12 {
			w.edit()
			edited := editedTo(w.cluster.Pools, copied(w.pools))
			before := resumed(t, w.cluster)
			carried := carriersOf(before.Nodes)
			w.cluster.Pools = edited
			w.cluster = carriedOut(t, w.cluster)
			after := resumed(t, w.cluster)
			count, carries := evictedBy(before.Nodes, after.Nodes), carriersOf(after.Nodes)
			if evicted += count; count > evictionNodes/2 {
				t.Fatalf("seed %d: %d of %d nodes get a NoExecute taint by the last of these edits:\n%s", seed, count, evictionNodes, strings.Join(w.steps, "\n"))
			}
			for _, pool := range after.Pools {
				was, is := carried[pool.Name], carries[pool.Name]
				if left += max(0, was-is); pool.DeletionTimestamp.IsZero() && was > 0 && (2*is < was || is == 0) {
					t.Fatalf("seed %d: of the %d nodes of pool %s %d are left by the last of these edits:\n%s", seed, was, pool.Name, is, strings.Join(w.steps, "\n"))
				}
			}
			held += len(heldNames(w.cluster))
		}
		w.cluster.Pools = approvedNow(w.cluster.Pools)
		w.cluster = resumed(t, w.cluster)
		if names := heldNames(w.cluster); len(names) > 0 {
			t.Fatalf("seed %d: all is approved, and held are %v", seed, names)
		}
		for _, node := range w.cluster.Nodes {
			if p, err := Node(node, render.Expand(living(w.cluster.Pools))); err != nil || len(p.Changes) > 0 {
				t.Fatalf("seed %d: all is approved, and node %s does not have it: %v, %v", seed, node.Name, p.Changes, err)
			}
		}
	}
	if held == 0 || evicted == 0 || left == 0 {
		t.Errorf("%d edits held, %d evictions, %d releases: the test has shown nothing", held, evicted, left)
	}
	t.Logf("%d worlds: %d edits were held, %d evictions, %d releases", worlds, held, evicted, left)
}

func copied(pools []*v1.NodePool) []*v1.NodePool {
	copies := make([]*v1.NodePool, len(pools))
	for i, pool := range pools {
		copies[i] = pool.DeepCopy()
	}
	return copies
}

// living are the pools that are not being deleted, as they say.
func living(pools []*v1.NodePool) []*v1.NodePool {
	return slices.DeleteFunc(slices.Clone(pools), func(pool *v1.NodePool) bool { return !pool.DeletionTimestamp.IsZero() })
}
