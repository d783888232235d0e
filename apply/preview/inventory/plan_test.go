package inventory_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// TestPlanOfTheFileIsThatOfTheCluster plans random revisions for random clusters,
// and for what a file says of these. Both plans must be the same, but for who set a
// value, and for values that the file does not have.
func TestPlanOfTheFileIsThatOfTheCluster(t *testing.T) {
	const worlds = 300
	changes, conflicts, unknown, claims, leaving := 0, 0, 0, 0, 0
	for seed := range uint64(worlds) {
		w := newWorld(seed)
		cluster, revision := w.cluster(), w.revision()
		want, wantErr := plan.Diff(revision, withoutValues(cluster))
		got, gotErr := plan.Diff(revision, throughFile(t, cluster))
		if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
			t.Fatalf("world %d: the cluster gives the error %v, the file %v", seed, wantErr, gotErr)
		}
		if wantErr != nil {
			claims++
			continue
		}
		if diff := cmp.Diff(want, got, samePlan); diff != "" {
			t.Fatalf("world %d (-cluster +file):\n%s", seed, diff)
		}
		if diff := cmp.Diff(want.Pools.After(cluster.Pools), got.Pools.After(throughFile(t, cluster).Pools), samePlan); diff != "" {
			t.Fatalf("world %d, pools afterwards (-cluster +file):\n%s", seed, diff)
		}
		for _, problem := range want.Problems {
			if strings.Contains(problem.Error(), "is being deleted and has finalizers") {
				leaving++
			}
		}
		for _, node := range got.Nodes {
			changes += len(node.Changes)
			conflicts += len(node.Conflicts)
			for _, key := range node.Conflicts {
				conflict := first(key)
				if conflict.Have != nil && *conflict.Have == inventory.Unknown {
					unknown++
				}
			}
		}
	}
	t.Logf("%d worlds, %d of them refused: %d changes, %d conflicts, %d of them with a value that is not in the file, %d RuntimeClasses that wait for finalizers", worlds, claims, changes, conflicts, unknown, leaving)
	if changes == 0 || conflicts == 0 || unknown == 0 || claims == 0 || leaving == 0 {
		t.Error("something of this never happened, so it was not tested")
	}
}

// first is the first conflict over a key.
func first(key plan.KeyConflict) plan.Conflict {
	conflicts, _ := key.First(1)
	return conflicts[0]
}

// samePlan leaves out what a file is not to have, and what no plan is made of.
var samePlan = cmp.Options{
	cmpopts.EquateEmpty(),
	cmpopts.IgnoreUnexported(plan.Difference{}, plan.PoolChange{}, plan.NodePlan{}),
	cmp.Transformer("conflicts", func(key plan.KeyConflict) []plan.Conflict {
		conflicts := slices.Collect(key.All())
		for i := range conflicts {
			conflicts[i].SetBy, conflicts[i].MoreSetBy = nil, 0
		}
		return conflicts
	}),
	cmpopts.IgnoreFields(metav1.ObjectMeta{}, "ManagedFields", "ResourceVersion", "DeletionTimestamp"),
	cmpopts.IgnoreFields(plan.NodeState{}, "ManagedFields", "ResourceVersion"),
	cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }),
}

// throughFile is a cluster as it is written down and read again.
func throughFile(t *testing.T, cluster plan.Cluster) plan.Cluster {
	t.Helper()
	var b inventory.Builder
	for _, pool := range cluster.Pools {
		must(t, b.Add(pool.DeepCopy()))
	}
	for _, class := range cluster.RuntimeClasses {
		must(t, b.Add(class.DeepCopy()))
	}
	for _, node := range cluster.Nodes {
		must(t, b.Add(node.DeepCopy().Object()))
	}
	var text bytes.Buffer
	must(t, inventory.Write(&text, b.Inventory("")))
	read, err := inventory.Read(bytes.NewReader(text.Bytes()))
	if err != nil {
		t.Fatalf("%v\n%s", err, text.Bytes())
	}
	var again bytes.Buffer
	must(t, inventory.Write(&again, read))
	if diff := cmp.Diff(text.String(), again.String()); diff != "" {
		t.Fatalf("read and written again (-first +second):\n%s", diff)
	}
	return read.Cluster
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// withoutValues is a cluster in which the annotations that no pool and no record
// names have the value of those that a file does not have.
func withoutValues(cluster plan.Cluster) plan.Cluster {
	named := map[string]bool{}
	for _, pool := range cluster.Pools {
		for key := range pool.Spec.Annotations {
			named[key] = true
		}
	}
	var nodes []*plan.NodeState
	for _, node := range cluster.Nodes {
		node = node.DeepCopy()
		record, err := plan.ParseRecord(node.Annotations[v1.AppliedAnnotation])
		for key := range node.Annotations {
			_, recorded := record.Annotations[key]
			if !named[key] && !(recorded && err == nil) && !strings.HasPrefix(key, "nodes.lailin.xyz/") {
				node.Annotations[key] = inventory.Unknown
			}
		}
		nodes = append(nodes, node)
	}
	cluster.Nodes = nodes
	return cluster
}
