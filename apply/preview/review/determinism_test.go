package review

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// The same input gives the same bytes, in whatever order it comes: pools, nodes,
// RuntimeClasses, and the keys of every map.
func TestSameInputSameBytes(t *testing.T) {
	const clusters, orders = 40, 4
	fields := 0
	for seed := range uint64(clusters) {
		r := rand.New(rand.NewPCG(seed, seed))
		cluster, files := randomCluster(r)
		first := bytesOf(t, cluster, files)
		fields += bytes.Count(first, []byte(`"field"`))
		for range orders {
			shuffle(r, cluster.Pools)
			shuffle(r, cluster.Nodes)
			shuffle(r, cluster.RuntimeClasses)
			if diff := cmp.Diff(string(first), string(bytesOf(t, cluster, files))); diff != "" {
				t.Fatalf("seed %d: in another order (-first +then):\n%s", seed, diff)
			}
		}
	}
	if fields < clusters*10 {
		t.Errorf("only %d changes and conflicts in %d clusters", fields, clusters)
	}
}

func shuffle[T any](r *rand.Rand, list []T) {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// bytesOf is the review as JSON. Each time it is made of copies, whose maps are
// others.
func bytesOf(t *testing.T, cluster plan.Cluster, files []render.Definition) []byte {
	t.Helper()
	var copied plan.Cluster
	for _, pool := range cluster.Pools {
		copied.Pools = append(copied.Pools, pool.DeepCopy())
	}
	for _, node := range cluster.Nodes {
		copied.Nodes = append(copied.Nodes, node.DeepCopy())
	}
	for _, class := range cluster.RuntimeClasses {
		copied.RuntimeClasses = append(copied.RuntimeClasses, class.DeepCopy())
	}
	d, err := plan.Diff(plan.Revision{Source: "team", SourceUID: "uid-of-team", Pools: files, Prune: plan.PrunePolicy{Enabled: true, Limit: intstr.FromInt32(2)}}, copied)
	if err != nil {
		t.Fatal(err)
	}
	review, err := Of(Input{Files: files, Before: copied, Difference: d})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(review, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// randomCluster is one in which an earlier revision was carried out, and then
// somebody has written nodes.
func randomCluster(r *rand.Rand) (plan.Cluster, []render.Definition) {
	var cluster plan.Cluster
	for i := range 12 {
		node := &plan.NodeState{Name: fmt.Sprintf("n%d", i), Labels: randomValues(r, 3), Annotations: randomValues(r, 3)}
		node.Taints = randomTaints(r)
		cluster.Nodes = append(cluster.Nodes, node)
	}
	earlier, err := plan.Diff(plan.Revision{Source: "team", SourceUID: "uid-of-team", Pools: randomFiles(r)}, cluster)
	if err != nil {
		panic(err) // no pool is anybody's yet
	}
	cluster = earlier.After(cluster)
	for _, node := range cluster.Nodes {
		if r.IntN(3) == 0 {
			node.Labels[fmt.Sprintf("k%d", r.IntN(3))] = "by-hand"
		}
	}
	cluster.RuntimeClasses = slices.DeleteFunc(cluster.RuntimeClasses, func(*nodev1.RuntimeClass) bool { return r.IntN(4) == 0 })
	return cluster, randomFiles(r)
}

func randomFiles(r *rand.Rand) []render.Definition {
	var files []render.Definition
	for i := range 6 {
		spec := v1.NodePoolSpec{
			NodeNames: []string{fmt.Sprintf("n%d", r.IntN(9)), "n[0-4]", "n1*"}[r.IntN(3):], Priority: int32(r.IntN(2)),
			ConflictPolicy: []v1.ConflictPolicy{v1.ReportConflicts, v1.TakeOver, v1.Adopt}[r.IntN(3)],
			Labels:         map[string]v1.LabelValue{}, Annotations: map[string]v1.AnnotationValue{},
		}
		for key, value := range randomValues(r, 4) {
			spec.Labels[key], spec.Annotations[key] = v1.LabelValue(value), v1.AnnotationValue(value)
		}
		for _, taint := range randomTaints(r) {
			spec.Taints = append(spec.Taints, v1.Taint{Key: taint.Key, Value: taint.Value, Effect: taint.Effect})
		}
		if r.IntN(4) > 0 {
			name := fmt.Sprintf("pool-%d", i)
			files = append(files, render.Definition{Pool: &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, File: name + ".yaml", Line: 1})
		}
	}
	return files
}

func randomValues(r *rand.Rand, most int) map[string]string {
	values := map[string]string{}
	for range r.IntN(most + 1) {
		values[[]string{"k0", "k1", "k2", "api-token"}[r.IntN(4)]] = fmt.Sprint(r.IntN(3))
	}
	return values
}

func randomTaints(r *rand.Rand) []corev1.Taint {
	var taints []corev1.Taint
	values := randomValues(r, 3)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		taints = append(taints, corev1.Taint{Key: key, Value: values[key], Effect: corev1.TaintEffectNoSchedule})
	}
	return taints
}
