package main

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/policies"
)

const wallLabel = corev1.LabelNamespaceNodeRestriction + "/tenant"

// wallPool sets nodes apart by a label that no kubelet may set. The node n2 is always in it:
// that a pool loses its last member is held.
const wallPool = `
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: wall}
spec:
  nodeNames: [%s, n2]
  labels: {` + wallLabel + `: payments, example.com/honest: "yes"}
  taints: [{key: tenant, value: payments, effect: NoSchedule}]
`

// A kubelet may apply a label of a wall at the value at which it stands: that changes
// nothing, and makes it an owner. When its node is thrown out, the label goes all the
// same, as does the taint. What an honest controller applies as well, of what anybody
// may set, stays.
func TestANodeThatIsThrownOutKeepsNothingOfAWall(t *testing.T) {
	q := newQuarantine(t)
	p := q.Test
	p.Install()
	q.reset("n2")
	wall := func(node string) {
		_, err := p.Cluster.Apply(t.Context(), fmt.Sprintf(wallPool, node))
		p.Do(err)
	}
	wall("n1")
	has := func(what string, want ...string) {
		t.Helper()
		cluster.Eventually(t, what, waitTimeout, func() error {
			node := p.Get("n1")
			var have []string
			for _, key := range []string{wallLabel, v1.RoleLabel("wall"), "example.com/honest"} {
				if _, found := node.Labels[key]; found {
					have = append(have, key)
				}
			}
			for _, taint := range node.Spec.Taints {
				if taint.Key == "tenant" {
					have = append(have, "tenant")
				}
			}
			if !slices.Equal(have, want) {
				return fmt.Errorf("it has %v", have)
			}
			return nil
		})
	}
	has("the node is within the wall", wallLabel, v1.RoleLabel("wall"), "example.com/honest", "tenant")

	node := p.Get("n1")
	applies := func(labels ...string) []byte {
		values := map[string]string{}
		for _, key := range labels {
			values[key] = node.Labels[key]
		}
		return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","labels":%s}}`, jsonOf(values))
	}
	options := func(manager string) metav1.PatchOptions {
		return metav1.PatchOptions{FieldManager: manager, Force: ptr.To(true)}
	}
	kubelet := policies.KubeletOf(t, p.Cluster, "n1")
	// The name of the field manager is whatever the kubelet says.
	for _, manager := range []string{"kubelet", "cluster-admin"} {
		_, err := kubelet.CoreV1().Nodes().Patch(t.Context(), "n1", types.ApplyPatchType,
			applies(wallLabel, v1.RoleLabel("wall")), options(manager))
		p.Do(err)
	}
	_, err := policies.UserOf(t, p.Cluster, "controller", "system:masters").CoreV1().Nodes().Patch(t.Context(), "n1", types.ApplyPatchType,
		applies("example.com/honest"), options("honest"))
	p.Do(err)
	owners := map[string]bool{}
	for _, entry := range p.Get("n1").ManagedFields {
		owners[entry.Manager] = true
	}
	if !owners["cluster-admin"] || !owners["honest"] {
		t.Fatalf("nobody else applies the labels, so nothing is tested: %v", slices.Sorted(maps.Keys(owners)))
	}

	wall("another")
	has("the node is thrown out, and keeps what is not a wall's", "example.com/honest")
}
