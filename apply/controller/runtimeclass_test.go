package controller

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

func (w *world) runtimeClass(name string) *nodev1.RuntimeClass {
	w.t.Helper()
	class := &nodev1.RuntimeClass{}
	w.do(w.Get(w.t.Context(), client.ObjectKey{Name: name}, class))
	return class
}

// The handler of a RuntimeClass is immutable, so it is replaced. What others have
// set on it is carried over, and the diff says beforehand what will be done.
func TestChangedHandlerReplacesTheRuntimeClass(t *testing.T) {
	w := newWorld(t)
	w.node("n1", role("sandbox"))
	pool := w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: sandbox, labels: {nodes.lailin.xyz/source: repo}, annotations: {nodes.lailin.xyz/sourceUID: uid-of-repo}}
spec: {handler: runc, labels: {sandbox: "yes"}}
`)
	w.isReady("sandbox", 1)
	selector := map[string]string{"sandbox": "yes", v1.RoleLabel("sandbox"): ""}
	w.hasRuntimeClass("node-pool-sandbox", "runc", selector)
	w.hasEvent("sandbox", "Updated", "created RuntimeClass node-pool-sandbox and updated 1 node")
	overhead := &nodev1.Overhead{PodFixed: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("120Mi")}}
	update(w, &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "node-pool-sandbox"}}, func(class *nodev1.RuntimeClass) {
		class.Labels = map[string]string{"theirs": "label"}
		class.Annotations = map[string]string{"theirs": "annotation"}
		class.Overhead = overhead
	})
	w.staysQuiet()
	before := w.runtimeClass("node-pool-sandbox")

	wanted := pool.DeepCopy()
	wanted.Spec.Handler = "gvisor"
	difference := w.diff(plan.Revision{Source: "repo", SourceUID: "uid-of-repo", Name: "main@sha1:0", Pools: []render.Definition{{Pool: wanted, File: "pools.yaml", Line: 1}}})
	var foretold []string
	for _, change := range difference.RuntimeClasses {
		foretold = append(foretold, fmt.Sprintf("%s %s", change.Action, change.Name()))
	}
	if diff := cmp.Diff([]string{"replace node-pool-sandbox"}, foretold); diff != "" {
		t.Errorf("what the diff says of RuntimeClasses (-want +got):\n%s", diff)
	}

	w.change("sandbox", func(pool *v1.NodePool) { pool.Spec.Handler = "gvisor" })
	w.hasRuntimeClass("node-pool-sandbox", "gvisor", selector)
	after := w.runtimeClass("node-pool-sandbox")
	if after.UID == before.UID {
		t.Error("the RuntimeClass is the same object")
	}
	type others struct {
		Labels, Annotations map[string]string
		Overhead            *nodev1.Overhead
	}
	of := func(class *nodev1.RuntimeClass) others {
		return others{class.Labels, class.Annotations, class.Overhead}
	}
	if diff := cmp.Diff(of(before), of(after)); diff != "" {
		t.Errorf("what others have set (-before +after):\n%s", diff)
	}
	w.hasEvent("sandbox", "RuntimeClass", "replaced RuntimeClass node-pool-sandbox")
	w.isReady("sandbox", 1)

	w.do(w.Delete(t.Context(), after))
	w.hasEvent("sandbox", "RuntimeClass", "created RuntimeClass node-pool-sandbox")

	w.change("sandbox", func(pool *v1.NodePool) { pool.Spec.Labels["sandbox"] = "still" })
	w.hasEvent("sandbox", "Updated", "updated RuntimeClass node-pool-sandbox and updated 1 node")
}

// diff plans a revision against all that lives in the cluster.
func (w *world) diff(revision plan.Revision) *plan.Difference {
	w.t.Helper()
	var pools v1.NodePoolList
	var classes nodev1.RuntimeClassList
	var nodes corev1.NodeList
	for _, list := range []client.ObjectList{&pools, &classes, &nodes} {
		w.do(w.List(w.t.Context(), list))
	}
	live := plan.Cluster{}
	for i := range pools.Items {
		live.Pools = append(live.Pools, &pools.Items[i])
	}
	for i := range classes.Items {
		live.RuntimeClasses = append(live.RuntimeClasses, &classes.Items[i])
	}
	for i := range nodes.Items {
		live.Nodes = append(live.Nodes, plan.StateOf(&nodes.Items[i]))
	}
	difference, err := plan.Diff(revision, live)
	w.do(err)
	return difference
}

// A RuntimeClass of the pool's name that is somebody else's is left alone. The
// pool says so, carries out the rest, and goes on when the name is free.
func TestForeignRuntimeClassIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	foreign := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "node-pool-taken"}, Handler: "theirs"}
	w.do(w.Create(t.Context(), foreign))
	t.Cleanup(func() { w.do(client.IgnoreNotFound(w.Delete(context.Background(), foreign))) })
	w.node("n1", role("taken"))
	w.pool("{metadata: {name: taken}, spec: {labels: {taken: \"yes\"}}}")
	w.isStalled("taken", v1.RuntimeClassReason, `RuntimeClass "node-pool-taken" exists and is not owned by pool "taken"`)
	w.hasEvent("taken", v1.RuntimeClassReason, "not owned by pool")
	member := role("taken")
	member["taken"] = "yes"
	w.carries("n1", member)
	w.staysQuiet()
	if live := w.runtimeClass("node-pool-taken"); live.ResourceVersion != foreign.ResourceVersion {
		t.Errorf("the foreign RuntimeClass was written: %+v", live)
	}

	w.do(w.Delete(t.Context(), foreign))
	w.hasRuntimeClass("node-pool-taken", "runc", map[string]string{"taken": "yes", v1.RoleLabel("taken"): ""})
	w.isReady("taken", 1)
	w.hasEvent("taken", v1.RuntimeClassReason+"Resolved")
	w.carries("n1", member)
}

func TestHandMadeChangeOfARuntimeClassIsPutBack(t *testing.T) {
	w := newWorld(t)
	w.pool(masterPool)
	toleration := corev1.Toleration{Key: "node-pool.lailin.xyz", Operator: "Equal", Value: "master", Effect: "NoSchedule"}
	right := func() {
		t.Helper()
		w.hasRuntimeClass("node-pool-master", "runc", map[string]string{
			"node-pool.lailin.xyz/master": "8", "node-pool.lailin.xyz/test": "2", v1.RoleLabel("master"): "",
		}, toleration)
	}
	right()
	for _, patch := range []string{
		`{"scheduling":{"nodeSelector":{"hand":"made"}}}`,
		`{"scheduling":{"nodeSelector":null}}`,
		`{"scheduling":{"tolerations":[{"operator":"Exists"}]}}`,
		`{"scheduling":null}`,
	} {
		before := w.runtimeClass("node-pool-master").ResourceVersion
		w.kubectl("patch", "runtimeclass", "node-pool-master", "--type=merge", "-p", patch)
		right()
		if w.runtimeClass("node-pool-master").ResourceVersion == before {
			t.Errorf("the patch %s has changed nothing", patch)
		}
	}
	w.kubectl("delete", "runtimeclass", "node-pool-master")
	right()
	w.isReady("master", 0)
	w.staysQuiet()
}
