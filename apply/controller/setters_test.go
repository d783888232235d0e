package controller

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Somebody has set a key that a pool wants. Condition, status and event of the
// pool say who, as the API server books it, whichever way it was set.
func TestConflictNamesWhoSetTheValue(t *testing.T) {
	w := newWorld(t)
	label := func(c client.Client, node, manager string, patch client.Patch) {
		w.do(c.Patch(t.Context(), w.get(node), patch, &client.PatchOptions{FieldManager: manager}))
	}
	merge := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"team":"theirs"}}}`))
	apply := func(node string) client.Patch {
		return client.RawPatch(types.ApplyPatchType, fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Node","metadata":{"name":%q,"labels":{"team":"theirs"}}}`, node))
	}
	cases := map[string]struct {
		reason string
		set    func(node string)
		want   string
	}{
		"kubectl": {
			"by hand",
			func(node string) { w.kubectl("label", "node", node, "team=theirs") },
			`label team stays "theirs": kubectl-label has set it; pool kubectl wants "ours"`,
		},
		"taint": {
			"the taints are one list: who wrote it last need not have put this one there",
			func(node string) { w.kubectl("taint", "node", node, "team=theirs:NoSchedule") },
			`taint team:NoSchedule stays "theirs": somebody else has set it (kubectl-taint wrote the taints last); pool taint wants "ours"`,
		},
		"kubelet": {
			"by the kubelet of the node, with the rights of one",
			func(node string) { label(w.kubelet(node), node, "kubelet", merge) },
			`label team stays "theirs": kubelet has set it; pool kubelet wants "ours"`,
		},
		"lie": {
			"whoever writes to a node chooses the name: it cannot pass for our words",
			func(node string) { label(w, node, `nobody has set it; "all" is well`, merge) },
			`label team stays "theirs": "nobody has set it; \"all\" is well" has set it; pool lie wants "ours"`,
		},
	}
	for name := range cases {
		w.node(name, role(name))
	}
	for name, c := range cases {
		w.isReadyNode(name)
		c.set(name)
		spec := `labels: {team: ours}`
		if name == "taint" {
			spec = `taints: [{key: team, value: ours, effect: NoSchedule}]`
		}
		w.pool(fmt.Sprintf("apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata: {name: %s}\nspec: {%s}\n", name, spec))
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			w.poolIs(name, "names who set it: "+c.reason, isConflicted(1, "node "+name+": "+c.want))
			w.hasEvent(name, v1.ConflictReason, c.want)
		})
	}
	w.becomesIdle()

	// Somebody else says the same as well: that is reported once, and no more.
	mark := w.mark()
	label(w, "kubectl", "argocd-controller", apply("kubectl"))
	w.poolIs("kubectl", "names the other as well", isConflicted(1, "argocd-controller and kubectl-label have set it"))
	w.becomesIdle()
	reported := 0
	for _, write := range w.writesSince(mark) {
		if write.Object.Resource != "events" {
			reported++
		}
		if write.Object.Resource != "events" && (write.Object.Subresource != "status" || write.Object.Name != "kubectl") {
			t.Errorf("write without a reason: %s", write)
		}
	}
	if reported != 1 {
		t.Errorf("it was reported in %d writes, want 1", reported)
	}
	w.staysQuiet()
}
