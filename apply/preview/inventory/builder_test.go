package inventory

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/nodepools/nodepools/apply/plan"
)

// built makes an inventory of objects, and again of the same in the other order,
// which must make no difference.
func built(t *testing.T, objects ...runtime.Object) *Inventory {
	t.Helper()
	var first *Inventory
	for range 2 {
		b := &Builder{}
		for _, object := range objects {
			if err := b.Add(object.DeepCopyObject()); err != nil {
				t.Fatal(err)
			}
		}
		inv := b.Inventory("")
		if first == nil {
			first = inv
		} else if diff := cmp.Diff(first, inv); diff != "" {
			t.Errorf("added in another order (-first +second):\n%s", diff)
		}
		slices.Reverse(objects)
	}
	return first
}

// on is a pod on node n that something controls.
func on(name, kind, owner string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: inNamespace("ns", name), Spec: corev1.PodSpec{NodeName: "n"}}
	if kind != "" {
		pod.OwnerReferences = controlledBy(kind, owner)
	}
	return pod
}

// of makes what controls a pod one of an API version.
func of(version string, pod *corev1.Pod) *corev1.Pod {
	pod.OwnerReferences[0].APIVersion = version
	return pod
}

func TestOwnersOfPods(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	replicaSet := &appsv1.ReplicaSet{ObjectMeta: inNamespace("ns", "api-1")}
	replicaSet.OwnerReferences = controlledBy("Deployment", "api")
	alone := &appsv1.ReplicaSet{ObjectMeta: inNamespace("ns", "alone")}
	rollout := &appsv1.ReplicaSet{ObjectMeta: inNamespace("ns", "canary-1")}
	rollout.OwnerReferences = controlledBy("Rollout", "canary")
	job := &batchv1.Job{ObjectMeta: inNamespace("ns", "nightly-1")}
	job.OwnerReferences = controlledBy("CronJob", "nightly")
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	static := on("proxy-n", "Node", "n")
	static.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash"}
	merelyOwned := on("owned", "Parent", "p")
	merelyOwned.OwnerReferences[0].Controller = nil
	elsewhere := on("elsewhere", "ReplicaSet", "api-1")
	elsewhere.Namespace = "other"
	cases := map[string]struct {
		reason string
		pod    *corev1.Pod
		want   Owner
	}{
		"Deployment":            {"a ReplicaSet is made by a Deployment", on("a", "ReplicaSet", "api-1"), Owner{Kind: "Deployment", Namespace: "ns", Name: "api"}},
		"ReplicaSet":            {"one without a Deployment stands for itself", on("a", "ReplicaSet", "alone"), Owner{Kind: "ReplicaSet", Namespace: "ns", Name: "alone"}},
		"ReplicaSet of another": {"what controls it is named, whatever it is", on("a", "ReplicaSet", "canary-1"), Owner{Kind: "Rollout", Namespace: "ns", Name: "canary"}},
		"unread ReplicaSet":     {"it came after the list of them was read", on("a", "ReplicaSet", "new"), Owner{Kind: "ReplicaSet", Namespace: "ns", Name: "new"}},
		"CronJob":               {"a Job is made by a CronJob, also when it is over", on("a", "Job", "nightly-1"), Owner{Kind: "CronJob", Namespace: "ns", Name: "nightly"}},
		"DaemonSet":             {"it is named as it is", on("a", "DaemonSet", "agent"), Owner{Kind: "DaemonSet", Namespace: "ns", Name: "agent"}},
		"unknown kind":          {"it is named as it is", on("a", "Database", "pg"), Owner{Kind: "Database", Namespace: "ns", Name: "pg"}},
		"DaemonSet of another":  {"another group has kinds of the same name", of("apps.kruise.io/v1beta1", on("a", "DaemonSet", "agent")), Owner{Group: "apps.kruise.io", Kind: "DaemonSet", Namespace: "ns", Name: "agent"}},
		"ReplicaSet of no apps": {"one of another group is not the one that a Deployment has made", of("example.com/v1", on("a", "ReplicaSet", "api-1")), Owner{Group: "example.com", Kind: "ReplicaSet", Namespace: "ns", Name: "api-1"}},
		"of an old version":     {"versions of a group are the same kind", of("apps/v1beta2", on("a", "ReplicaSet", "api-1")), Owner{Kind: "Deployment", Namespace: "ns", Name: "api"}},
		"Job of batch":          {"it is one of Kubernetes itself", of("batch/v1", on("a", "Job", "nightly-1")), Owner{Kind: "CronJob", Namespace: "ns", Name: "nightly"}},
		"unknown kind of apps":  {"its group is kept", of("apps/v1", on("a", "Thing", "x")), Owner{Group: "apps", Kind: "Thing", Namespace: "ns", Name: "x"}},
		"core":                  {"its group is the empty one", of("v1", on("a", "ReplicationController", "old")), Owner{Kind: "ReplicationController", Namespace: "ns", Name: "old"}},
		"bare":                  {"nothing makes it anew", on("a", "", ""), Owner{}},
		"static":                {"its node owns the picture and makes no pod", static, Owner{}},
		"owned":                 {"an owner that does not control makes no pod", merelyOwned, Owner{}},
		"other namespace":       {"owners are of the pod's namespace", elsewhere, Owner{Kind: "ReplicaSet", Namespace: "other", Name: "api-1"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inv := built(t, node, c.pod, replicaSet, alone, rollout, job)
			if len(inv.Pods) != 1 || inv.Pods[0].Owner != c.want {
				t.Errorf("%+v, want one of %+v: %s", inv.Pods, c.want, c.reason)
			}
			if static := name == "static"; inv.Pods[0].Static != static {
				t.Errorf("static is %v", inv.Pods[0].Static)
			}
		})
	}
}

func TestPodsOfAnInventory(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	waiting := on("waiting", "", "")
	waiting.Spec.NodeName = ""
	lost := on("lost", "", "")
	lost.Spec.NodeName = "gone"
	ready := on("ready", "", "")
	ready.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue},
	}}
	starting := on("starting", "", "")
	starting.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	failed, succeeded, leaving := on("failed", "", ""), on("succeeded", "", ""), on("leaving", "", "")
	failed.Status.Phase, succeeded.Status.Phase = corev1.PodFailed, corev1.PodSucceeded
	leaving.DeletionTimestamp = ptr.To(metav1.Unix(1, 0))
	full := on("full", "", "")
	full.Spec.RuntimeClassName = ptr.To("node-pool-gpu")
	full.Spec.NodeSelector = map[string]string{"tier": "gold"}
	full.Spec.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
	required := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: corev1.NodeSelectorOpExists}}}}}
	full.Spec.Affinity = &corev1.Affinity{
		PodAffinity: &corev1.PodAffinity{},
		NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  required,
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1}},
		},
	}
	want := []Pod{
		{Name: "failed", Finished: true},
		{Name: "full", Scheduling: Scheduling{
			RuntimeClass: "node-pool-gpu", NodeSelector: map[string]string{"tier": "gold"}, Affinity: required,
			Tolerations: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}},
		}},
		{Name: "leaving", Terminating: true},
		{Name: "ready", Ready: true},
		{Name: "starting"},
		{Name: "succeeded", Finished: true},
	}
	for i := range want {
		want[i].Namespace, want[i].Node = "ns", "n"
	}
	gone := on("gone", "", "")
	gone.Spec.NodeName, gone.Status.Phase = "", corev1.PodFailed
	dropped := on("dropped", "", "")
	dropped.Spec.NodeName, dropped.DeletionTimestamp = "", leaving.DeletionTimestamp
	got := built(t, node, waiting, lost, ready, starting, failed, succeeded, leaving, full, gone, dropped)
	if diff := cmp.Diff(want, got.Pods); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Pod{{Namespace: "ns", Name: "waiting"}}, got.Waiting); diff != "" {
		t.Errorf("pods without a node (-want +got):\n%s", diff)
	}
}

func TestBudgetsOfAPod(t *testing.T) {
	budget := func(name string, selector *metav1.LabelSelector) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{
			ObjectMeta: inNamespace("ns", name), Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector},
			Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1, CurrentHealthy: 3, DesiredHealthy: 2},
		}
	}
	matching := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "api"}}
	elsewhere := budget("elsewhere", &metav1.LabelSelector{})
	elsewhere.Namespace = "other"
	pod := on("a", "", "")
	pod.Labels = map[string]string{"app": "api"}
	inv := built(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, pod, elsewhere,
		budget("matching", matching),
		budget("everything", &metav1.LabelSelector{}),
		budget("nothing", nil),
		budget("another", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}),
		budget("unless", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpDoesNotExist}}}),
		budget("broken", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Sometimes"}}}),
	)
	if diff := cmp.Diff([]string{"everything", "matching"}, inv.Pods[0].Budgets); diff != "" {
		t.Errorf("budgets of the pod (-want +got):\n%s", diff)
	}
	want := Budget{Namespace: "ns", Name: "matching", Selector: matching, Allowed: 1, Healthy: 3, Desired: 2}
	if at := slices.IndexFunc(inv.Budgets, func(b Budget) bool { return b.Name == "matching" }); at < 0 {
		t.Error("the budget is missing")
	} else if diff := cmp.Diff(want, inv.Budgets[at]); diff != "" {
		t.Errorf("budget (-want +got):\n%s", diff)
	}
}

func TestWorkloads(t *testing.T) {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{RuntimeClassName: ptr.To("node-pool-gpu")}}
	meta := func(name string) metav1.ObjectMeta { return inNamespace("ns", name) }
	owned := func(name, kind string) metav1.ObjectMeta {
		object := meta(name)
		object.OwnerReferences = controlledBy(kind, "owner")
		return object
	}
	over := batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}}
	inv := built(t,
		&appsv1.Deployment{ObjectMeta: meta("scaled-to-nothing"), Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](0), Template: template}},
		&appsv1.Deployment{ObjectMeta: owned("of-an-operator", "Operator"), Spec: appsv1.DeploymentSpec{Template: template}},
		&appsv1.ReplicaSet{ObjectMeta: meta("set"), Spec: appsv1.ReplicaSetSpec{Template: template}},
		&appsv1.ReplicaSet{ObjectMeta: owned("of-a-deployment", "Deployment"), Spec: appsv1.ReplicaSetSpec{Template: template}},
		&appsv1.StatefulSet{ObjectMeta: meta("db"), Spec: appsv1.StatefulSetSpec{Template: template}},
		&appsv1.DaemonSet{ObjectMeta: meta("agent"), Spec: appsv1.DaemonSetSpec{Template: template}},
		&corev1.ReplicationController{ObjectMeta: meta("old"), Spec: corev1.ReplicationControllerSpec{Template: &template}},
		&corev1.ReplicationController{ObjectMeta: meta("without-template")},
		&batchv1.CronJob{ObjectMeta: meta("nightly"), Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}}}},
		&batchv1.Job{ObjectMeta: meta("once"), Spec: batchv1.JobSpec{Template: template}},
		&batchv1.Job{ObjectMeta: meta("over"), Spec: batchv1.JobSpec{Template: template}, Status: over},
		&batchv1.Job{ObjectMeta: owned("of-a-cronjob", "CronJob"), Spec: batchv1.JobSpec{Template: template}},
	)
	var want []Workload
	for _, made := range [][2]string{
		{"CronJob", "nightly"}, {"DaemonSet", "agent"}, {"Deployment", "of-an-operator"}, {"Deployment", "scaled-to-nothing"},
		{"Job", "once"}, {"ReplicaSet", "set"}, {"ReplicationController", "old"}, {"StatefulSet", "db"},
	} {
		want = append(want, Workload{Owner: Owner{Kind: made[0], Namespace: "ns", Name: made[1]}, Template: Scheduling{RuntimeClass: "node-pool-gpu"}})
	}
	if diff := cmp.Diff(want, inv.Workloads); diff != "" {
		t.Errorf("workloads (-want +got):\n%s", diff)
	}
}

func TestAddedAgain(t *testing.T) {
	var b Builder
	for _, phase := range []corev1.PodPhase{corev1.PodRunning, corev1.PodSucceeded} {
		pod := on("a", "", "")
		pod.Status.Phase = phase
		for _, object := range []runtime.Object{pod, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}} {
			if err := b.Add(object); err != nil {
				t.Fatal(err)
			}
		}
	}
	inv := b.Inventory("")
	if len(inv.Nodes) != 1 || len(inv.Pods) != 1 || !inv.Pods[0].Finished {
		t.Errorf("%d nodes, pods %+v: what was read last counts", len(inv.Nodes), inv.Pods)
	}
	if err := b.Add(&corev1.Secret{}); err == nil {
		t.Error("a Secret was taken up")
	}
}

// sameInventory compares what a file has of two inventories.
var sameInventory = cmp.Options{
	cmpopts.EquateEmpty(),
	cmpopts.IgnoreFields(metav1.ObjectMeta{}, "ManagedFields", "ResourceVersion", "DeletionTimestamp"),
	cmpopts.IgnoreFields(plan.NodeState{}, "ManagedFields", "ResourceVersion"),
	cmpopts.IgnoreTypes(metav1.TypeMeta{}),
}
