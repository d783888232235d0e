package impact_test

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// workload is what makes pods, or one pod that nothing makes anew.
type workload struct {
	kind, name string
	// pods is how many there are before the change.
	pods int
	// waiting is how many more there are that find no node.
	waiting int
	spec    corev1.PodSpec
	// annotations of the pods.
	annotations map[string]string
}

// title names the workload as an impact does.
func (w workload) title() string {
	if w.kind == "Static" {
		return "Pod/" + w.name
	}
	return w.kind + "/" + w.name
}

type option func(*workload)

func newWorkload(kind, name string, pods int, options []option) workload {
	w := workload{kind: kind, name: name, pods: pods, spec: corev1.PodSpec{
		Containers:                    []corev1.Container{{Name: "main", Image: "none"}},
		NodeSelector:                  map[string]string{},
		TerminationGracePeriodSeconds: ptr.To[int64](1),
	}}
	for _, apply := range options {
		apply(&w)
	}
	return w
}

func deployment(name string, pods int, options ...option) workload {
	return newWorkload("Deployment", name, pods, options)
}

func statefulSet(name string, pods int, options ...option) workload {
	return newWorkload("StatefulSet", name, pods, options)
}

// daemonSet runs on so many nodes before the change.
func daemonSet(name string, pods int, options ...option) workload {
	return newWorkload("DaemonSet", name, pods, options)
}

// job runs so many pods, which do not end by themselves.
func job(name string, pods int, options ...option) workload {
	w := newWorkload("Job", name, pods, options)
	w.annotations = map[string]string{"runs": "on"}
	return w
}

// doneJob has so many pods that have succeeded.
func doneJob(name string, pods int, options ...option) workload {
	return newWorkload("Job", name, pods, options)
}

// ends reports whether the pods of a workload succeed as soon as they have run.
func (w workload) ends() bool { return w.kind == "Job" && w.annotations == nil }

// cronJob has one Job, with one pod that runs.
func cronJob(name string, options ...option) workload {
	w := newWorkload("CronJob", name, 1, options)
	w.annotations = map[string]string{"runs": "on"}
	return w
}

// alone is a pod that nothing makes anew.
func alone(name string, options ...option) workload { return newWorkload("Pod", name, 1, options) }

// static is a pod that the kubelet of a node has from a file. It gives it a
// toleration of its own.
func static(name, node string) workload {
	w := newWorkload("Static", name, 1, []option{tolerates(":NoExecute")})
	w.spec.NodeName = node
	return w
}

// waits says that so many pods find no node before the change.
func waits(pods int) option { return func(w *workload) { w.waiting = pods } }

// on keeps the pods on one node.
func on(node string) option { return selects("node=" + node) }

// selects gives the pods a node selector.
func selects(labels ...string) option {
	return func(w *workload) {
		for _, label := range labels {
			key, value, _ := strings.Cut(label, "=")
			w.spec.NodeSelector[key] = value
		}
	}
}

// needs gives the pods a node affinity that is required.
func needs(expressions ...corev1.NodeSelectorRequirement) option {
	return func(w *workload) {
		w.spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: expressions}},
			},
		}}
	}
}

// spread keeps two pods from sharing a node as long as there is another.
func spread(w *workload) {
	w.spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: "node", WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": w.name}},
	}}
}

// inPool names the RuntimeClass of a pool.
func inPool(pool string) option {
	return func(w *workload) { w.spec.RuntimeClassName = &pool }
}

// tolerates gives the pods tolerations: key, key=value, each with :effect or
// without, and with a number of seconds after @.
func tolerates(texts ...string) option {
	return func(w *workload) {
		for _, text := range texts {
			w.spec.Tolerations = append(w.spec.Tolerations, parseToleration(text))
		}
	}
}

func parseToleration(text string) corev1.Toleration {
	text, after, limited := strings.Cut(text, "@")
	keyValue, effect, _ := strings.Cut(text, ":")
	key, value, equal := strings.Cut(keyValue, "=")
	toleration := corev1.Toleration{Key: key, Value: value, Effect: corev1.TaintEffect(effect), Operator: corev1.TolerationOpExists}
	if equal {
		toleration.Operator = corev1.TolerationOpEqual
	}
	if limited {
		var seconds int64
		if _, err := fmt.Sscan(after, &seconds); err != nil {
			panic(fmt.Sprintf("toleration %q: %v", text, err))
		}
		toleration.TolerationSeconds = &seconds
	}
	return toleration
}

// podSpec is what the workload says of its pods, with the names of this play.
func (p *play) podSpec(w workload) corev1.PodSpec {
	spec := *w.spec.DeepCopy()
	spec.NodeSelector["world"] = p.slug
	if spec.RuntimeClassName != nil {
		spec.RuntimeClassName = ptr.To(v1.RuntimeClassName(p.full(*spec.RuntimeClassName)))
	}
	if spec.NodeName != "" {
		spec.NodeName = p.full(spec.NodeName)
	}
	return spec
}

// object is the workload as it is created.
func (p *play) object(w workload) client.Object {
	labels := map[string]string{"app": w.name}
	meta := metav1.ObjectMeta{Name: w.name, Namespace: p.slug}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: w.annotations}, Spec: p.podSpec(w)}
	count := ptr.To(int32(w.pods)) //nolint:gosec // a handful
	once := batchv1.JobSpec{Parallelism: count, Completions: count, BackoffLimit: ptr.To[int32](100), Template: template}
	once.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	switch w.kind {
	case "Deployment":
		return &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: count, Selector: selector, Template: template}}
	case "StatefulSet":
		return &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
			Replicas: count, Selector: selector, Template: template, PodManagementPolicy: appsv1.ParallelPodManagement,
		}}
	case "DaemonSet":
		return &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}}
	case "Job":
		return &batchv1.Job{ObjectMeta: meta, Spec: once}
	case "CronJob":
		return &batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{
			Schedule: "0 0 29 2 *", JobTemplate: batchv1.JobTemplateSpec{Spec: once},
		}}
	default:
		meta.Labels, meta.Annotations = labels, w.annotations
		return &corev1.Pod{ObjectMeta: meta, Spec: template.Spec}
	}
}
