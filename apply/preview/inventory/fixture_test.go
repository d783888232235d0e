package inventory

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// fleet adds what a large cluster has: nodes as a cloud labels them, most of them
// in a pool of five, what runs on each, and Deployments.
func fleet(nodes, pools, pods int, add func(runtime.Object)) {
	all := make([]*v1.NodePool, 0, pools)
	for i := range pools {
		pool := &v1.NodePool{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("pool-%04d", i), UID: uid("pool", i), CreationTimestamp: metav1.Unix(1_600_000_000+int64(i), 0),
				Labels:      map[string]string{v1.SourceLabel: "fleet"},
				Annotations: map[string]string{v1.SourceUIDAnnotation: "5d3b1c8e-7f2a-4c6b-9a1e-0b4d2f6c8e10", v1.RevisionAnnotation: "main@sha1:0123456789012345678901234567890123456789", v1.FileAnnotation: fmt.Sprintf("pools/pool-%04d.yaml", i)},
			},
			Spec: v1.NodePoolSpec{
				Selector: &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"example.com/group": v1.LabelValue(fmt.Sprintf("group-%04d", i))}},
				Labels:   map[string]v1.LabelValue{"example.com/pool": v1.LabelValue(fmt.Sprintf("pool-%04d", i)), "example.com/tier": "gold"},
				Taints:   []v1.Taint{{Key: "example.com/pool", Value: fmt.Sprintf("pool-%04d", i), Effect: corev1.TaintEffectNoSchedule}},
			},
		}
		v1.SetNodePoolDefaults(pool)
		pool.ManagedFields = plan.ManagedFields(plan.Keys{Labels: []string{v1.SourceLabel}, Annotations: []string{v1.FileAnnotation, v1.RevisionAnnotation, v1.SourceUIDAnnotation}}, plan.Keys{})
		all = append(all, pool)
	}
	expansion := render.Expand(all)
	for _, pool := range all {
		class := expansion.RuntimeClass(pool.Name)
		class.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1.GroupVersion.String(), Kind: v1.NodePoolKind, Name: pool.Name, UID: pool.UID, Controller: ptr.To(true)}}
		add(class)
		add(pool)
	}
	for i := range nodes {
		add(carrying(machine(i, pools), expansion).Object())
	}
	daemons := 4
	for i := range daemons {
		add(&appsv1.DaemonSet{ObjectMeta: inNamespace("kube-system", fmt.Sprintf("agent-%d", i))})
	}
	made := 0
	for i := range nodes {
		for d := range daemons {
			if made++; made > pods {
				return
			}
			pod := podOn(i, "kube-system", fmt.Sprintf("agent-%d-%s", d, suffix(i*daemons+d)))
			pod.OwnerReferences = controlledBy("DaemonSet", fmt.Sprintf("agent-%d", d))
			pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{pod.Spec.NodeName}}}}},
			}}}
			add(pod)
		}
	}
	for app := 0; made < pods; app++ {
		namespace, name := fmt.Sprintf("team-%03d", app%200), fmt.Sprintf("service-%d", app)
		template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}}}
		if app%3 == 0 {
			template.Spec.RuntimeClassName = ptr.To(v1.RuntimeClassName(fmt.Sprintf("pool-%04d", app%max(pools, 1))))
		}
		add(&appsv1.Deployment{ObjectMeta: inNamespace(namespace, name), Spec: appsv1.DeploymentSpec{Template: template}})
		set := &appsv1.ReplicaSet{ObjectMeta: inNamespace(namespace, name+"-7d9f8b6c5"), Spec: appsv1.ReplicaSetSpec{Template: template}}
		set.OwnerReferences = controlledBy("Deployment", name)
		add(set)
		add(&policyv1.PodDisruptionBudget{ObjectMeta: inNamespace(namespace, name), Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}}})
		for replica := range 10 {
			if made++; made > pods {
				return
			}
			pod := podOn((app*7+replica*131)%nodes, namespace, set.Name+"-"+suffix(app*10+replica))
			pod.OwnerReferences, pod.Labels = controlledBy("ReplicaSet", set.Name), template.Labels
			pod.Spec.RuntimeClassName = template.Spec.RuntimeClassName
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, defaultTolerations...)
			add(pod)
		}
	}
}

// machine is a node as a cloud registers it.
func machine(i, pools int) *plan.NodeState {
	name := machineName(i)
	node := &plan.NodeState{Name: name, UID: uid("node", i), ResourceVersion: fmt.Sprint(i), Labels: map[string]string{
		"beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/instance-type": "m5.4xlarge", "beta.kubernetes.io/os": "linux",
		"failure-domain.beta.kubernetes.io/region": "eu-west-1", "failure-domain.beta.kubernetes.io/zone": fmt.Sprintf("eu-west-1%c", 'a'+i%3),
		"k8s.io/cloud-provider-aws": "4b0a9d8e1c2f3a4b5c6d7e8f90a1b2c3", "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": name,
		"kubernetes.io/os": "linux", "node.kubernetes.io/instance-type": "m5.4xlarge", "topology.ebs.csi.aws.com/zone": fmt.Sprintf("eu-west-1%c", 'a'+i%3),
		"topology.k8s.aws/zone-id": fmt.Sprintf("euw1-az%d", 1+i%3), "topology.kubernetes.io/region": "eu-west-1", "topology.kubernetes.io/zone": fmt.Sprintf("eu-west-1%c", 'a'+i%3),
		"example.com/serial": fmt.Sprintf("5CG%07d", i*7919), "example.com/group": fmt.Sprintf("group-%04d", i%max(pools, 1)),
	}, Annotations: map[string]string{
		"alpha.kubernetes.io/provided-node-ip": fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), "csi.volume.kubernetes.io/nodeid": fmt.Sprintf(`{"ebs.csi.aws.com":"i-%017x"}`, i),
		"node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true",
	}}
	return node
}

func machineName(i int) string {
	return fmt.Sprintf("ip-10-%d-%d-%d.eu-west-1.compute.internal", i>>16, i>>8&255, i&255)
}

// carrying makes a node carry what pools want, as a controller has written it.
func carrying(node *plan.NodeState, pools *render.Expansion) *plan.NodeState {
	p, err := plan.Node(node, pools)
	if err != nil {
		panic(err)
	}
	for _, change := range p.Changes {
		switch change.Field {
		case plan.Label:
			set(&node.Labels, change.Key, change.After)
		case plan.Annotation:
			set(&node.Annotations, change.Key, change.After)
		case plan.Taint:
			var id render.TaintID
			if err := id.UnmarshalText([]byte(change.Key)); err != nil {
				panic(err)
			}
			var taints []corev1.Taint
			for _, taint := range node.Taints {
				if taint.Key != id.Key || taint.Effect != id.Effect {
					taints = append(taints, taint)
				}
			}
			if change.After != nil {
				taints = append(taints, corev1.Taint{Key: id.Key, Value: *change.After, Effect: id.Effect})
			}
			node.Taints = taints
		}
	}
	record := p.Record.String()
	if set(&node.Annotations, v1.AppliedAnnotation, &record); record == "" {
		delete(node.Annotations, v1.AppliedAnnotation)
	}
	return node
}

func set(values *map[string]string, key string, value *string) {
	if value == nil {
		delete(*values, key)
		return
	}
	put(values, key, *value)
}

func podOn(node int, namespace, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: inNamespace(namespace, name), Spec: corev1.PodSpec{NodeName: machineName(node)},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

func inNamespace(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func controlledBy(kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{Kind: kind, Name: name, Controller: ptr.To(true)}}
}

// suffix is like those that Kubernetes gives to names.
func suffix(i int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	text := make([]byte, 5)
	for at := range text {
		text[at] = letters[i%len(letters)]
		i = i/len(letters) + at*7
	}
	return string(text)
}

func uid(kind string, i int) types.UID {
	return types.UID(fmt.Sprintf("%08x-%04x-4000-8000-000000000000", i, len(kind)))
}

// add hands objects to a builder.
func add(t testing.TB, b *Builder) func(runtime.Object) {
	return func(object runtime.Object) {
		if err := b.Add(object); err != nil {
			t.Fatal(err)
		}
	}
}

// defaultTolerations are what the API server gives every pod.
var defaultTolerations = []corev1.Toleration{
	{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](300)},
	{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](300)},
}
