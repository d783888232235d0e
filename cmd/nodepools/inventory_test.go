package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/compare"
	"github.com/nodepools/nodepools/apply/preview/inventory"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// TestInventoryPlansLikeItsCluster compares files with a cluster in which the
// controller has been at work, beside others, and with the inventory file of it.
// Both have to say the same, but for who set a value.
func TestInventoryPlansLikeItsCluster(t *testing.T) {
	c := cluster.Shared(t)
	if err := reset(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	s := newStory(t, c)
	const others = `
apiVersion: v1
kind: Node
metadata:
  name: n1
  labels: {node-role.kubernetes.io/a: "", pool: a, team: vision}
  annotations: {example.com/serial: 5CG1234}
spec: {taints: [{key: maintenance, effect: NoSchedule}]}
`
	s.node("n1", "a")
	s.node("n2", "a")
	s.node("n3", "b")
	s.node("n4", "b")
	s.commit(map[string]string{"a.yaml": poolFile("a", "runc"), "b.yaml": poolFile("b", "runc"), "c.yaml": poolFile("c", "runc"), "d.yaml": poolFile("d", "runc")})
	s.do(s.Create(t.Context(), &v1.NodePoolSource{
		ObjectMeta: metav1.ObjectMeta{Name: "pools"},
		Spec:       v1.NodePoolSourceSpec{URL: "file://" + s.repository, Interval: metav1.Duration{Duration: time.Second}},
	}))
	startRun(t, c.Kubeconfig())
	s.labelled("n1", "pool", "a")
	s.labelled("n2", "pool", "a")
	manifest := filepath.Join(t.TempDir(), "node.yaml")
	s.do(os.WriteFile(manifest, []byte(others), 0o600))
	if out, err := c.Kubectl(t.Context(), "apply", "--server-side", "--force-conflicts", "--field-manager=argo", "-f", manifest); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.patch(&v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, `{"metadata":{"labels":{"by-hand":"x"}}}`)
	const heldBack = "most pools are gone"
	revisions := map[string]map[string]string{
		"as it is":        {},
		"other values":    {"a.yaml": withLabels("a", "pool: z, team: training"), "b.yaml": withLabels("b", "more: b")},
		"a pool is gone":  {"a.yaml": ""},
		"a pool more":     {"e.yaml": poolFile("e", "kata") + "  nodeNames: [n*]\n  conflictPolicy: TakeOver\n  annotations: {example.com/owner: e}\n"},
		"another handler": {"a.yaml": poolFile("a", "kata")},
		heldBack:          {"a.yaml": "", "b.yaml": "", "c.yaml": ""},
	}
	before := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d"} {
		before[name+".yaml"] = poolFile(name, "runc")
	}
	var live, filed *observe.State
	s.until("the controller has settled", func() error {
		var err error
		if live, filed, err = bothWays(t, c); err != nil {
			return err
		}
		settled, err := compared(t, before, live)
		if err == nil && !settled.Empty() {
			err = fmt.Errorf("it has still to write %d pools and %d nodes", len(settled.Pools.Changes), len(settled.Nodes))
		}
		return err
	})
	for reason, changed := range revisions {
		t.Run(reason, func(t *testing.T) {
			files := maps.Clone(before)
			maps.Copy(files, changed)
			want, err := compared(t, files, live)
			s.do(err)
			got, err := compared(t, files, filed)
			s.do(err)
			if diff := cmp.Diff(want, got, samePlan); diff != "" {
				t.Errorf("-cluster +file:\n%s", diff)
			}
			if changes := len(changed) > 0 && got.Pools.Blocked == nil; changes == got.Empty() || (reason == heldBack) != (got.Pools.Blocked != nil) {
				t.Errorf("empty is %v, held back is %v", got.Empty(), got.Pools.Blocked)
			}
			if reason == "a pool is gone" && slices.ContainsFunc(got.Nodes, func(node plan.NodeDifference) bool {
				return node.Name == "n1" && slices.ContainsFunc(node.Changes, func(change plan.KeyChange) bool { return change.Key == "pool" })
			}) {
				t.Error("the label that another applies as well would go")
			}
		})
	}
}

// bothWays is the cluster as it was read, and as its inventory file has it.
func bothWays(t *testing.T, c *cluster.Cluster) (live, filed *observe.State, err error) {
	t.Helper()
	reader, err := (&clusterFlags{kubeconfig: c.Kubeconfig(), timeout: waitTimeout}).server()
	if err != nil {
		return nil, nil, err
	}
	taken, err := reader.Inventory(t.Context(), false)
	if err != nil {
		return nil, nil, err
	}
	var text bytes.Buffer
	if err := inventory.Write(&text, taken.Inventory); err != nil {
		return nil, nil, err
	}
	read, err := inventory.Read(&text)
	if err != nil {
		return nil, nil, err
	}
	return &observe.State{Cluster: taken.Cluster, Sources: taken.Sources, Installed: true}, &observe.State{Cluster: read.Cluster, Sources: read.Sources, Installed: true}, nil
}

func compared(t *testing.T, files map[string]string, with *observe.State) (*plan.Difference, error) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	loaded, err := loadPools(folder)
	if err != nil {
		return nil, err
	}
	source, err := compare.ChooseSource(with, "")
	if err != nil {
		return nil, err
	}
	revision := plan.RevisionOf(source, "", loaded.Definitions)
	return plan.Diff(revision, with.Cluster)
}

// withLabels is a pool as poolFile makes it, with other labels.
func withLabels(name, labels string) string {
	return fmt.Sprintf("apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata: {name: %s}\nspec:\n  labels: {%s}\n", name, labels)
}

// samePlan leaves out what an inventory file is not to have, and what no plan is
// made of.
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
	cmpopts.IgnoreFields(metav1.ObjectMeta{}, "ManagedFields", "ResourceVersion", "Generation", "CreationTimestamp", "Finalizers"),
	cmpopts.IgnoreFields(plan.NodeState{}, "ManagedFields", "ResourceVersion"),
	cmpopts.IgnoreTypes(v1.NodePoolStatus{}, metav1.TypeMeta{}),
	cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }),
}

// TestInventoryWithoutPods reads a cluster as somebody who may not list all that a
// change concerns: what is left is whole in itself.
func TestInventoryWithoutPods(t *testing.T) {
	c := cluster.Shared(t)
	if err := reset(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	const role = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: sees-no-pods}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [list]}
- {apiGroups: [node.k8s.io], resources: [runtimeclasses], verbs: [list]}
- {apiGroups: [nodes.lailin.xyz], resources: [nodepools, nodepoolsources], verbs: [list]}
- {apiGroups: [apps], resources: [deployments, replicasets, statefulsets, daemonsets], verbs: [list]}
- {apiGroups: [batch], resources: [jobs, cronjobs], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: sees-no-pods}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sees-no-pods}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: sees-no-pods}
`
	if out, err := c.Apply(t.Context(), role); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := c.Kubectl(context.Background(), "delete", "clusterrole,clusterrolebinding", "sees-no-pods"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	config, err := c.AddUser("sees-no-pods")
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := c.WriteKubeconfig(config)
	if err != nil {
		t.Fatal(err)
	}
	newStory(t, c).node("n1", "a")
	reader, err := (&clusterFlags{kubeconfig: kubeconfig, timeout: waitTimeout}).server()
	if err != nil {
		t.Fatal(err)
	}
	var taken *observe.Inventory
	cluster.Eventually(t, "the role counts", waitTimeout, func() (err error) {
		taken, err = reader.Inventory(t.Context(), true)
		return err
	})
	if len(taken.Nodes) != 1 || taken.Pods != nil || taken.Workloads != nil || taken.Budgets != nil {
		t.Errorf("%d nodes, pods %v, workloads %v, budgets %v; want a node, and nothing known of the others", len(taken.Nodes), taken.Pods, taken.Workloads, taken.Budgets)
	}
	want := []string{"what happens to pods is not shown: the user may not list replicationcontrollers, poddisruptionbudgets.policy, pods; see 'nodepools install --viewer'"}
	if diff := cmp.Diff(want, taken.Notes("the cluster")); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if _, err := reader.Inventory(t.Context(), false); !apierrors.IsForbidden(err) {
		t.Errorf("%v, want that a right is missing", err)
	}
}
