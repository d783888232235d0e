package controller

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/api/crds"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// wallPool is a pool of the nodes of a zone.
func wallPool(name, zone string) string {
	return fmt.Sprintf(`apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata:
  name: %s
spec:
  selector:
    matchLabels: {example.com/zone: %s}
  labels: {example.com/pool-%s: "yes"}
  taints:
  - {key: example.com/wall-%s, value: "1", effect: NoSchedule}
`, name, zone, name, name)
}

// zoneNodes makes nodes of a zone, and returns their names.
func (w *world) zoneNodes(zone string, count int) []string {
	w.t.Helper()
	var names []string
	for i := range count {
		names = append(names, fmt.Sprintf("%s-%02d", zone, i))
		w.node(names[i], map[string]string{"example.com/zone": zone})
	}
	return names
}

// carriesPool waits until nodes carry what wallPool says, or nothing of it.
func (w *world) carriesPool(pool string, yes bool, nodes ...string) {
	w.t.Helper()
	for _, name := range nodes {
		w.eventually(fmt.Sprintf("node %s carries pool %s: %t", name, pool, yes), func() error {
			node := w.get(name)
			_, labelled := node.Labels["example.com/pool-"+pool]
			tainted := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == "example.com/wall-"+pool })
			if labelled != yes || tainted != yes {
				return fmt.Errorf("labelled %t, tainted %t", labelled, tainted)
			}
			return nil
		})
	}
}

// specs are the taints, labels and annotations of nodes, in one text.
func (w *world) specs(nodes ...string) string {
	w.t.Helper()
	all := map[string]any{}
	for _, name := range nodes {
		node := w.get(name)
		walls := slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(taint corev1.Taint) bool { return !strings.HasPrefix(taint.Key, "example.com/") })
		all[name] = []any{node.Labels, node.Annotations[v1.AppliedAnnotation], walls}
	}
	text, err := json.Marshal(all)
	w.do(err)
	return string(text)
}

// A selector that somebody mistypes by hand releases nothing until it is approved,
// also by a controller that is started anew; an approval is of that change alone.
func TestReleaseByHandWaitsForAnApproval(t *testing.T) {
	w := newWorld(t)
	a := w.zoneNodes("a", 12)
	b := w.zoneNodes("b", 2)
	w.pool(wallPool("p", "a"))
	w.pool(wallPool("q", "b"))
	w.isReady("p", 12)
	w.isReady("q", 2)
	before := w.specs(append(a, b...)...)
	mark := w.mark()
	mistype := func(zone string) {
		w.kubectl("patch", "nodepools.nodes.lailin.xyz", "p", "--type=merge", "-p", `{"spec":{"selector":{"matchLabels":{"example.com/zone":"`+zone+`"}}}}`)
	}
	held := func() {
		w.t.Helper()
		w.isStalled("p", v1.ReleaseBlockedReason, `12 of 12 nodes would leave pool "p" (a-00, a-01, a-02 and 9 more)`, "the limit is 50%")
		w.poolIs("p", "is blocked", func(pool *v1.NodePool) error {
			return conditionIs(pool.Status.Conditions, v1.ReleaseBlockedCondition, metav1.ConditionTrue, v1.ReleaseBlockedReason)
		})
	}
	mistype("A")
	held()
	w.hasEvent("p", v1.ReleaseBlockedReason, "12 of 12 nodes")
	w.stop()
	w.start()
	w.change("q", func(pool *v1.NodePool) { pool.Spec.Labels["example.com/more"] = "1" })
	w.carries("b-00", map[string]string{"example.com/zone": "b", "example.com/pool-q": "yes", "example.com/more": "1", v1.RoleLabel("q"): ""}, "example.com/wall-q=1:NoSchedule")
	held()
	writes, _ := w.nodeWrites(mark)
	for node := range writes {
		if strings.HasPrefix(node, "a-") {
			t.Errorf("node %s was written while its pool is held", node)
		}
	}
	// Undone, nothing has happened.
	mistype("a")
	w.isReady("p", 12)
	w.change("q", func(pool *v1.NodePool) { delete(pool.Spec.Labels, "example.com/more") })
	w.isReady("q", 2)
	w.eventually("nodes are as they were", func() error {
		if now := w.specs(append(a, b...)...); now != before {
			return fmt.Errorf("they are\n%s\nand were\n%s", now, before)
		}
		return nil
	})

	mistype("A")
	held()
	w.approves("p")
	w.carriesPool("p", false, a...)
	w.isReady("p", 0)
	mistype("a")
	w.carriesPool("p", true, a...)
	w.isReady("p", 12)
	mistype("A")
	held()
	w.carriesPool("p", true, a...)

	// The deletion of one pool is meant as it is asked for.
	w.remove("p")
	w.carriesPool("p", false, a...)
}

// The deletion of the CustomResourceDefinition is the deletion of all pools, and
// strips no node. Approved, it goes on; or the pools come back, and nothing has
// happened to nodes.
func TestDeletionOfAllPoolsWaitsForAnApproval(t *testing.T) {
	cluster.Long(t)
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	c := cluster.New(t, cluster.Options{Audit: true, CRDs: definitions})
	w := &world{Client: newClient(t, c.Config), t: t, cluster: c, user: "loops of " + t.Name()}
	w.config, err = c.AddUser(w.user, "system:masters")
	w.do(err)
	w.config.QPS = -1
	w.start()
	t.Cleanup(func() { w.stop() })

	nodes := slices.Concat(w.zoneNodes("a", 10), w.zoneNodes("b", 6), w.zoneNodes("c", 4))
	manifests := map[string]string{"a": wallPool("a", "a"), "b": wallPool("b", "b"), "c": wallPool("c", "c")}
	ready := func() {
		w.t.Helper()
		w.isReady("a", 10)
		w.isReady("b", 6)
		w.isReady("c", 4)
	}
	for _, manifest := range manifests {
		w.pool(manifest)
	}
	ready()
	before, mark := w.specs(nodes...), w.mark()
	const definition = "nodepools.nodes.lailin.xyz"
	held := func() {
		w.t.Helper()
		for name := range manifests {
			w.isStalled(name, v1.ReleaseBlockedReason, `the deletion of pool "`+name+`" and others would release 20 of the 20 nodes`)
		}
	}
	w.kubectl("delete", "crd", definition, "--wait=false")
	held()
	w.stop()
	w.start()
	held()

	// The way back: the pools go without their finalizers, and with them the
	// definition; it comes back, and so do they.
	for name := range manifests {
		w.kubectl("patch", "nodepools.nodes.lailin.xyz", name, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	}
	w.eventually("the definition is gone", func() error {
		if out, err := c.Kubectl(t.Context(), "get", "crd", definition); err == nil {
			return fmt.Errorf("it is there: %s", out)
		}
		return nil
	})
	w.kubectl("delete", "runtimeclasses", "--all") // as the garbage collector does
	w.stop()
	w.install()
	w.start()
	w.pool(manifests["a"])
	w.isReady("a", 10)
	w.pool(manifests["b"])
	w.pool(manifests["c"])
	ready()
	if now := w.specs(nodes...); now != before {
		t.Errorf("nodes are\n%s\nand were\n%s", now, before)
	}
	if writes, _ := w.nodeWrites(mark); len(writes) > 0 {
		t.Errorf("nodes were written: %v", writes)
	}

	// Approved, it is carried out.
	w.kubectl("annotate", "--overwrite", "nodepools.nodes.lailin.xyz", "--all", v1.ApproveReleaseAnnotation+"="+v1.DeletionApproval)
	w.kubectl("delete", "nodepools.nodes.lailin.xyz", "--all", "--wait=false")
	for name := range manifests {
		w.gone(&v1.NodePool{}, name)
		w.carriesPool(name, false, nodes...)
	}
}

// install installs CustomResourceDefinitions once more.
func (w *world) install() {
	w.t.Helper()
	definitions, err := crds.All()
	w.do(err)
	for _, definition := range definitions {
		definition.TypeMeta = metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"}
		text, err := json.Marshal(definition)
		w.do(err)
		file := w.t.TempDir() + "/crd.json"
		w.do(os.WriteFile(file, text, 0o600))
		w.kubectl("apply", "--server-side", "--force-conflicts", "-f", file)
		w.kubectl("wait", "--for=condition=Established", "crd", definition.Name)
	}
}
