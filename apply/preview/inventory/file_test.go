package inventory

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

var update = flag.Bool("update", false, "write the golden files anew")

// smallFleet has one of each thing that a file can say.
func smallFleet() []runtime.Object {
	var objects []runtime.Object
	fleet(9, 2, 20, func(object runtime.Object) { objects = append(objects, object) })
	deleted := metav1.Unix(1_700_000_000, 0)
	source := &v1.NodePoolSource{
		ObjectMeta: metav1.ObjectMeta{Name: "fleet", UID: "5d3b1c8e-7f2a-4c6b-9a1e-0b4d2f6c8e10", DeletionTimestamp: &deleted, Labels: map[string]string{"team": "platform"},
			Annotations: map[string]string{v1.ApprovePruneAnnotation: "main@sha1:0123", "example.com/note": "not kept"}},
		Spec:   v1.NodePoolSourceSpec{URL: "https://git.example.com/fleet.git", Path: "pools", DeletionPolicy: v1.DeletePools},
		Status: v1.NodePoolSourceStatus{Revision: "main@sha1:0123", PruneBase: 2, LastHandledPruneApproval: "main@sha1:0123", Pools: 2, BlockedPrune: &v1.BlockedPrune{Count: 3, Pools: []string{"leaving"}}},
	}
	leaving := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "leaving", UID: "uid-of-leaving", CreationTimestamp: metav1.Unix(1_500_000_000, 0), DeletionTimestamp: &deleted, Annotations: map[string]string{v1.ReconcileAnnotation: v1.Disabled}},
		Status: v1.NodePoolStatus{ReplacedRuntimeClass: &v1.ReplacedRuntimeClass{UID: "uid-of-class", Labels: map[string]string{"theirs": "x"}}}}
	leaving.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:nodes.lailin.xyz/reconcile":{}}}}`)}}
	leaving.Status.Contests = &v1.Contests{Nodes: 2, Keys: 1, First: []v1.ContestedKey{{
		Field: "taint", Key: "ready:NoSchedule", Nodes: 2, NodeNames: []string{"edge-1", "edge-2"}, Managers: []string{"node-readiness-controller"}, Repairs: 6,
	}}}
	class := &nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: "gvisor", Annotations: map[string]string{"example.com/by": "security"},
			DeletionTimestamp: &deleted, Finalizers: []string{"example.com/keep"},
		}, Handler: "runsc",
		Overhead:   &nodev1.Overhead{PodFixed: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}},
		Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"sandbox": "yes"}},
	}
	cordoned := &plan.NodeState{
		Name: "edge-1", Labels: map[string]string{"zone": "dmz"}, Annotations: map[string]string{v1.ReconcileAnnotation: v1.Disabled, "example.com/password": "hunter2"},
		Unschedulable: true, Taints: []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &deleted}},
	}
	edge := cordoned.Object()
	edge.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}, {Type: "GPUHealthy", Status: corev1.ConditionTrue, Message: "not kept"}, {Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse}}
	static := &corev1.Pod{ObjectMeta: inNamespace("kube-system", "proxy-edge-1"), Spec: corev1.PodSpec{NodeName: "edge-1"}}
	static.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash"}
	done := &corev1.Pod{ObjectMeta: inNamespace("default", "done"), Spec: corev1.PodSpec{NodeName: "edge-1"}, Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}
	done.DeletionTimestamp = &deleted
	sandboxed := &corev1.Pod{ObjectMeta: inNamespace("default", "db-0"), Spec: corev1.PodSpec{
		NodeName: "edge-1", RuntimeClassName: ptr.To("gvisor"), NodeSelector: map[string]string{"sandbox": "yes"},
		Tolerations: slices.Concat([]corev1.Toleration{{Key: "zone", Value: "dmz", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](60)}}, defaultTolerations, []corev1.Toleration{{Key: "sandbox", Operator: corev1.TolerationOpExists}}),
	}}
	sandboxed.OwnerReferences = controlledBy("StatefulSet", "db")
	advanced := &corev1.Pod{ObjectMeta: inNamespace("kube-system", "agent-0-x"), Spec: corev1.PodSpec{NodeName: "edge-1"}}
	advanced.OwnerReferences = controlledBy("DaemonSet", "agent-0")
	advanced.OwnerReferences[0].APIVersion = "apps.kruise.io/v1beta1"
	queued := podOn(0, "team-000", "service-0-7d9f8b6c5-queued")
	queued.Spec.NodeName, queued.Status = "", corev1.PodStatus{Phase: corev1.PodPending}
	queued.OwnerReferences, queued.Spec.RuntimeClassName = controlledBy("ReplicaSet", "service-0-7d9f8b6c5"), ptr.To("node-pool-pool-0000")
	queued.Spec.NodeSelector, queued.Spec.Tolerations = map[string]string{"example.com/tier": "silver"}, defaultTolerations
	return append(objects, queued, advanced, source, leaving, class, edge, static, done, sandboxed,
		&appsv1.StatefulSet{ObjectMeta: inNamespace("default", "db"), Spec: appsv1.StatefulSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RuntimeClassName: ptr.To("gvisor")}}}})
}

func written(t testing.TB, inv *Inventory) []byte {
	t.Helper()
	var text bytes.Buffer
	if err := Write(&text, inv); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

func TestFile(t *testing.T) {
	inv := built(t, smallFleet()...)
	inv.Taken = "2026-01-02T03:04:05Z"
	got := written(t, inv)
	golden := filepath.Join("testdata", "fleet.json")
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Fatalf("file (-want +got):\n%s", diff)
	}
	for _, secret := range []string{"hunter2", "example.com/note", "1700000000", "registry.example.com"} {
		if strings.Contains(string(got), secret) {
			t.Errorf("the file has %q", secret)
		}
	}

	// What comes back is what went in, less what a file is not to have.
	read, err := Read(bytes.NewReader(got))
	if err != nil {
		t.Fatal(err)
	}
	known := built(t, smallFleet()...)
	known.Taken = inv.Taken
	for _, node := range known.Nodes {
		node.UID = ""
		for key := range node.Annotations {
			if !strings.HasPrefix(key, "nodes.lailin.xyz/") {
				node.Annotations[key] = Unknown
			}
		}
		for i := range node.Taints {
			node.Taints[i].TimeAdded = nil
		}
	}
	for _, source := range known.Sources {
		delete(source.Annotations, "example.com/note")
	}
	if diff := cmp.Diff(known, read, sameInventory); diff != "" {
		t.Errorf("read again (-want +got):\n%s", diff)
	}
	for i, pool := range read.Pools {
		if diff := cmp.Diff(plan.Applied(known.Pools[i]), plan.Applied(pool)); diff != "" {
			t.Errorf("pool %s: what came from Git (-want +got):\n%s", pool.Name, diff)
		}
	}
}

// The same file in YAML, as a program converts it and as a person writes it.
func TestFileInYAML(t *testing.T) {
	text := written(t, built(t, smallFleet()...))
	want, err := Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	converted, err := yaml.JSONToYAML(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, yaml := range [][]byte{converted, append([]byte("# a comment\n"), text...)} {
		got, err := Read(bytes.NewReader(yaml))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("from YAML (-want +got):\n%s", diff)
		}
	}
}

// Which nodes are ready, and their conditions, come back as they were. They are not known of a
// node of which no kubelet has reported.
func TestFileHasConditions(t *testing.T) {
	node := func(name string, conditions ...corev1.NodeCondition) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: conditions}}
	}
	ready := func(status corev1.ConditionStatus) corev1.NodeCondition {
		return corev1.NodeCondition{Type: corev1.NodeReady, Status: status}
	}
	text := written(t, built(t, node("down", ready(corev1.ConditionFalse)), node("lost", ready(corev1.ConditionUnknown)), node("new"), node("plain", ready(corev1.ConditionTrue)),
		node("sick", ready(corev1.ConditionTrue), corev1.NodeCondition{Type: "GPUHealthy", Status: corev1.ConditionFalse}, corev1.NodeCondition{Type: corev1.NodeDiskPressure, Status: "odd"})))
	read, err := Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bool{"down": true, "lost": true}, read.Unready); diff != "" {
		t.Errorf("nodes that are not ready (-want +got):\n%s", diff)
	}
	known := map[string]string{}
	for _, node := range read.Nodes {
		if node.Conditions.Known() {
			known[node.Name] = node.Conditions.String()
		}
	}
	if diff := cmp.Diff(map[string]string{"down": "", "lost": "", "plain": "", "sick": "DiskPressure=Unknown,GPUHealthy=False"}, known); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestPodsAreNotKnown(t *testing.T) {
	inv := built(t, smallFleet()...)
	if inv.Pods, inv.Workloads, inv.Budgets = nil, nil, nil; !strings.Contains(string(written(t, inv)), `"withoutPods":true`) {
		t.Error("a file without pods has to say that it does not know them")
	}
	read, err := Read(bytes.NewReader(written(t, inv)))
	if err != nil || read.Pods != nil {
		t.Errorf("%v; pods %v, want none known", err, read.Pods)
	}
	empty, err := Read(bytes.NewReader(written(t, built(t))))
	if err != nil || empty.Pods == nil {
		t.Errorf("%v: of a cluster without pods it is known that there are none", err)
	}
}
