package plan

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// When a difference is carried out, there is none any more: on that rests what is
// given two revisions without a cluster. And what Diff and After are given, they
// leave as it is.
func TestAfterADifferenceThereIsNone(t *testing.T) {
	const clusters = 300
	s := newServer()
	var changed, comebacks, seconds, blocked, deleted int
	for seed := range uint64(clusters) {
		cluster, revision := newWorld(seed).cluster(t, s)
		before := copyOf(cluster)
		first, err := diff(revision, cluster)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Diff(revision, cluster)
		if err != nil {
			t.Fatal(err)
		}
		after := d.After(cluster)
		if !equality.Semantic.DeepEqual(before, cluster) {
			t.Errorf("what was given is changed (-before +after):\n%s", cmp.Diff(before, cluster))
		}
		again, err := Diff(revision, after)
		if err != nil {
			t.Fatal(err)
		}
		if !again.Empty() {
			t.Errorf("there is a difference still: pools %+v, RuntimeClasses %+v, nodes %+v", again.PoolChanges, again.RuntimeClasses, changesOf(again))
		}
		for counter, so := range map[*int]bool{
			&changed: !d.Empty(), &comebacks: len(first.recreating()) > 0, &seconds: first.unsettled(),
			&blocked: d.Pools.Blocked != nil, &deleted: len(d.Pools.Deletes()) > 0,
		} {
			if so {
				*counter++
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d clusters: %d differ, %d have pools that come back, %d nodes that are written twice, %d pools held back, %d pools deleted",
		clusters, changed, comebacks, seconds, blocked, deleted)
	for what, count := range map[string]int{"differ": changed, "have pools that come back": comebacks, "have pools held back": blocked, "have pools deleted": deleted} {
		if count < clusters/100 {
			t.Errorf("only %d of %d clusters %s", count, clusters, what)
		}
	}
}

func changesOf(d *Difference) map[string][]KeyChange {
	changes := map[string][]KeyChange{}
	for _, node := range d.Nodes {
		changes[node.Name] = node.Changes
	}
	return changes
}

func copyOf(c Cluster) Cluster {
	var copied Cluster
	for _, pool := range c.Pools {
		copied.Pools = append(copied.Pools, pool.DeepCopy())
	}
	for _, class := range c.RuntimeClasses {
		copied.RuntimeClasses = append(copied.RuntimeClasses, class.DeepCopy())
	}
	for _, node := range c.Nodes {
		copied.Nodes = append(copied.Nodes, node.DeepCopy())
	}
	return copied
}

// cluster is a cluster in which pools have been carried out and others have had
// their way since, and what a source has to say then.
func (w *world) cluster(t *testing.T, s server) (Cluster, Revision) {
	t.Helper()
	for range 4 {
		w.changePools()
	}
	var c Cluster
	for _, name := range slices.Sorted(maps.Keys(w.pools)) {
		pool := w.pools[name]
		if w.oneIn(3) {
			pool = w.ofSource(pool)
		}
		pool.UID = types.UID("uid-of-" + name)
		w.pools[name] = pool
	}
	for i := range 3 {
		node := newWorld(w.r.Uint64()).node
		node.Name, node.UID = fmt.Sprintf("n%d", i), types.UID(fmt.Sprint(i))
		if i == 0 {
			node.Name = "n"
		}
		node, _ = s.write(t, node, w.expansion())
		c.Nodes = append(c.Nodes, w.disturbed(node))
	}
	for _, name := range slices.Sorted(maps.Keys(w.pools)) {
		if class := w.class(w.pools[name]); class != nil {
			c.RuntimeClasses = append(c.RuntimeClasses, class)
		}
		c.Pools = append(c.Pools, w.interfered(w.pools[name].DeepCopy()))
	}
	revision := Revision{Source: "team", SourceUID: teamUID, Name: "main@sha1:new", Prune: PrunePolicy{Enabled: !w.oneIn(5), Limit: intstr.FromInt(w.r.IntN(4))}}
	for _, name := range worldPools {
		live := w.pools[name]
		if w.oneIn(3) || live != nil && live.Labels[v1.SourceLabel] != "team" {
			continue
		}
		spec := w.pool(name).Spec
		if live != nil && w.oneIn(3) {
			spec = live.Spec
		}
		revision.Pools = append(revision.Pools, inFile(name, spec))
	}
	return c, revision
}

// ofSource is a pool as a source has made it.
func (w *world) ofSource(pool *v1.NodePool) *v1.NodePool {
	made := fromGit(pool.Name, pool.Spec)
	maps.Copy(made.Annotations, pool.Annotations)
	return made
}

// disturbed is a node that somebody has written since.
func (w *world) disturbed(node *NodeState) *NodeState {
	if w.oneIn(2) {
		w.meddle(node)
	}
	if w.oneIn(8) {
		node.Annotations[v1.AppliedAnnotation] = `{"version":99}`
	}
	if w.oneIn(8) {
		node.Annotations[v1.ReconcileAnnotation] = v1.Disabled
	}
	return node
}

// interfered is a pool with which somebody has done something since.
func (w *world) interfered(pool *v1.NodePool) *v1.NodePool {
	if w.oneIn(6) {
		pool.Finalizers = nil
	}
	if w.oneIn(8) {
		pool.Finalizers = append(pool.Finalizers, "example.com/theirs")
	}
	if w.oneIn(5) && len(pool.Finalizers) > 0 {
		now := metav1.Now()
		pool.DeletionTimestamp = &now
	}
	if w.oneIn(8) {
		pool.Status.ReplacedRuntimeClass = &v1.ReplacedRuntimeClass{UID: "uid-of-class", Labels: map[string]string{"left": "behind"}}
	}
	if w.oneIn(8) {
		metav1.SetMetaDataLabel(&pool.ObjectMeta, "by", "hand")
	}
	return pool
}

// class is the RuntimeClass of a pool, as it is or as somebody has made it; nil
// where there is none.
func (w *world) class(pool *v1.NodePool) *nodev1.RuntimeClass {
	want := expand(slices.Collect(maps.Values(w.pools))...).RuntimeClass(pool.Name)
	if want == nil || w.oneIn(5) {
		return nil
	}
	want.OwnerReferences = []metav1.OwnerReference{OwnerReference(pool)}
	switch w.r.IntN(5) {
	case 0:
		want.OwnerReferences = nil
	case 1:
		want.Handler = "other"
		want.Labels = map[string]string{"by": "hand"}
	case 2:
		want.Scheduling = nil
	}
	return want
}
