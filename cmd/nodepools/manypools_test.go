package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// Each of the pools of a hostile author is valid: 8 annotations of nearly 1 KiB, on
// every node. Together they are more than a node may have.
const hostilePools, hostileAnnotations = 40, 8

func hostilePool(number int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata: {name: full-%02d}\nspec:\n  nodeNames: ['*']\n  annotations:\n", number)
	for i := range hostileAnnotations {
		fmt.Fprintf(&text, "    example.com/full-%02d-%d: \"%01000d\"\n", number, i, 1)
	}
	return text.String()
}

const priorityQuarantine = `apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: isolate}
spec:
  priority: 1000
  nodeNames: ['*']
  labels: {` + corev1.LabelNamespaceNodeRestriction + `/isolated: "yes"}
  annotations: {example.com/why: incident}
  taints: [{key: isolated, value: "yes", effect: NoSchedule}]
`

// Somebody who may write pools, and nothing else, fills the nodes up. That is shown before
// by diff and reported after; and a quarantine gets through at once, as diff has said, with
// its labels, its taint and its annotation.
func TestManyPoolsKeepNoQuarantineOff(t *testing.T) {
	c := cluster.Shared(t)
	nodes := []string{"n1", "n2", "n3"}
	w := newWalled(t, c, nodeNamed("n1", nil), nodeNamed("n2", nil), nodeNamed("n3", nil))
	files := map[string]string{}
	for i := range hostilePools {
		files[fmt.Sprintf("full-%02d.yaml", i)] = hostilePool(i)
	}
	folder := w.writes(files)
	foretold, changes := w.diffs(folder)
	if !changes || foretold.Summary.Counts.NewConflicts == 0 || foretold.Summary.Counts.NodesChanged != len(nodes) {
		t.Fatalf("diff shows %+v", foretold.Summary.Counts)
	}
	for _, conflict := range foretold.Conflicts {
		if conflict.Field != plan.Annotation || len(conflict.Claims) == 0 || !conflict.Claims[0].NoRoom || len(conflict.Nodes) != len(nodes) {
			t.Fatalf("diff shows another conflict: %+v", conflict)
		}
	}

	author := w.author()
	for _, text := range files {
		w.do(author.Create(t.Context(), parsedPool(t, text)))
	}
	w.until("as many pools as diff has said have a conflict", func() error {
		var pools v1.NodePoolList
		w.do(w.List(t.Context(), &pools))
		said, reported := map[string]bool{}, map[string]bool{}
		for _, conflict := range foretold.Conflicts {
			said[conflict.Claims[0].Pool] = true
		}
		for _, pool := range pools.Items {
			if ready := meta.FindStatusCondition(pool.Status.Conditions, v1.ReadyCondition); ready != nil && ready.Reason == v1.ConflictReason && strings.Contains(ready.Message, "does not fit") {
				reported[pool.Name] = true
			}
		}
		if len(reported) != len(said) || len(said) == 0 {
			return fmt.Errorf("%d report one, and diff has said %d", len(reported), len(said))
		}
		return nil
	})
	if _, changes := w.diffs(folder); changes {
		t.Error("diff shows that there is more to write")
	}
	for _, name := range nodes {
		if has := countAnnotations(w.live(name), "example.com/full-"); has != hostilePools*hostileAnnotations-len(foretold.Conflicts) {
			t.Errorf("node %s has %d annotations of the author, and %d conflicts were foretold", name, has, len(foretold.Conflicts))
		}
	}

	shown, _ := w.diffs(w.writes(map[string]string{"isolate.yaml": priorityQuarantine}))
	for _, conflict := range shown.Conflicts {
		if slices.ContainsFunc(conflict.Claims, func(claim plan.Conflict) bool { return claim.Pool == "isolate" }) {
			t.Errorf("diff shows that the quarantine lacks something: %+v", conflict)
		}
	}
	w.apply(priorityQuarantine)
	label := corev1.LabelNamespaceNodeRestriction + "/isolated"
	for _, name := range nodes {
		w.has("is isolated", name, []string{label, "isolated", v1.RoleLabel("isolate")}, label+"=yes", v1.RoleLabel("isolate")+"=", "isolated=yes:NoSchedule")
		if why := w.live(name).Annotations["example.com/why"]; why != "incident" {
			t.Errorf("node %s: the annotation of the quarantine is %q", name, why)
		}
	}
	w.says(&v1.NodePool{}, "isolate", v1.SucceededReason)
}

// author is a client of somebody who may make pools, and nothing else.
func (w *walled) author() client.Client {
	w.t.Helper()
	w.apply(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: pool-author},
  rules: [{apiGroups: [` + v1.GroupVersion.Group + `], resources: [nodepools], verbs: [create]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: pool-author},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: pool-author},
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: pool-author}]}`)
	config, err := w.c.AddUser("pool-author")
	w.do(err)
	author, err := client.New(config, client.Options{Scheme: w.Scheme()})
	w.do(err)
	w.until("the rights of the author are in force", func() error {
		return author.Create(w.t.Context(), parsedPool(w.t, hostilePool(0)), client.DryRunAll)
	})
	return author
}

func parsedPool(t *testing.T, text string) *v1.NodePool {
	t.Helper()
	pool := &v1.NodePool{}
	if err := yaml.UnmarshalStrict([]byte(text), pool); err != nil {
		t.Fatal(err)
	}
	return pool
}

// countAnnotations counts the annotations of a node whose keys have a beginning.
func countAnnotations(node *corev1.Node, prefix string) int {
	count := 0
	for key := range node.Annotations {
		if strings.HasPrefix(key, prefix) {
			count++
		}
	}
	return count
}
