package inventory

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/nodepools/nodepools/api/sanitize"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// The version and the kind of the first object of a file.
const (
	APIVersion = "inventory.nodes.lailin.xyz/v1"
	Kind       = "Inventory"
)

// header is the first object of a file.
type header struct {
	metav1.TypeMeta `json:",inline"`
	Taken           string `json:"taken,omitempty"`
	// WithoutPods reports that pods, workloads and budgets are not known.
	WithoutPods bool `json:"withoutPods,omitempty"`
}

// Unknown is the value of an annotation of a node that a file has without its
// value. It differs from every value that a pool may want, so that a plan takes
// it for somebody else's.
const Unknown = "(not in the inventory)"

// Write writes an inventory as a file: a List with an object on each line. The same
// inventory gives the same bytes, and there is nothing in them that a terminal would obey.
//
// The file has the values of node annotations that a plan may read: those of
// keys under nodes.lailin.xyz/, and of keys that a pool or the record of the
// node names. Of all others it has only the key.
func Write(w io.Writer, inv *Inventory) error {
	var text bytes.Buffer
	first, err := json.Marshal(header{metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind}, inv.Taken, inv.Pods == nil})
	if err != nil {
		return fmt.Errorf("inventory: %w", err)
	}
	text.WriteString("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n")
	text.Write(first)
	for _, object := range inv.objects() {
		kinds, _, err := scheme.ObjectKinds(object)
		if err != nil {
			return fmt.Errorf("inventory: %w", err)
		}
		object.GetObjectKind().SetGroupVersionKind(kinds[0])
		line, err := json.Marshal(object)
		if err != nil {
			return fmt.Errorf("inventory: %w", err)
		}
		text.WriteString(",\n")
		text.Write(line)
	}
	text.WriteString("\n]}\n")
	_, err = io.WriteString(w, sanitize.JSON(text.String()))
	return err
}

// WriteYAML writes the same file as YAML.
func WriteYAML(w io.Writer, inv *Inventory) error {
	var text bytes.Buffer
	if err := Write(&text, inv); err != nil {
		return err
	}
	return render.WriteYAML(w, json.RawMessage(text.Bytes()))
}

// apiObject is an object of the API, of any kind.
type apiObject interface {
	metav1.Object
	runtime.Object
}

// objects are those of the file, with the fields that a plan and an impact read.
func (inv *Inventory) objects() []apiObject {
	var all []apiObject
	named := map[string]bool{}
	for _, pool := range inv.Pools {
		for key := range pool.Spec.Annotations {
			named[key] = true
		}
		pool = pool.DeepCopy()
		pool.ResourceVersion, pool.ManagedFields = "", plan.Condense(pool.ManagedFields)
		all = append(all, pool)
	}
	for _, source := range inv.Sources {
		source = source.DeepCopy()
		source.ResourceVersion, source.ManagedFields = "", nil
		maps.DeleteFunc(source.Annotations, func(key, _ string) bool { return !isOurs(key) })
		all = append(all, source)
	}
	for _, class := range inv.RuntimeClasses {
		class = class.DeepCopy()
		class.ResourceVersion, class.ManagedFields = "", nil
		all = append(all, class)
	}
	for _, node := range inv.Nodes {
		all = append(all, nodeObject(node, inv.Unready[node.Name], named))
	}
	for _, budget := range inv.Budgets {
		all = append(all, budgetObject(budget))
	}
	for _, workload := range inv.Workloads {
		if object := workload.object(); object != nil {
			all = append(all, object)
		}
	}
	for _, pods := range [][]Pod{inv.Pods, inv.Waiting} {
		for i := range pods {
			all = append(all, pods[i].object())
		}
	}
	return all
}

// isOurs reports whether a key has a meaning to the controller.
func isOurs(key string) bool { return strings.HasPrefix(key, v1.Domain+"/") }

func nodeObject(state *plan.NodeState, unready bool, named map[string]bool) *corev1.Node {
	node := state.Object().DeepCopy()
	node.UID, node.ResourceVersion = "", ""
	for i := range node.Spec.Taints {
		node.Spec.Taints[i].TimeAdded = nil // nothing depends on it
	}
	record, err := plan.ParseRecord(state.Annotations[v1.AppliedAnnotation])
	for key := range node.Annotations {
		_, recorded := record.Annotations[key]
		if !isOurs(key) && !named[key] && (!recorded || err != nil) {
			node.Annotations[key] = Unknown
		}
	}
	if ready := corev1.ConditionTrue; state.Conditions.Known() {
		if unready {
			ready = corev1.ConditionFalse
		}
		node.Status.Conditions = append(state.Conditions.Objects(), corev1.NodeCondition{Type: corev1.NodeReady, Status: ready})
	}
	return node
}

func budgetObject(budget Budget) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: budget.Namespace, Name: budget.Name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: budget.Selector},
		Status: policyv1.PodDisruptionBudgetStatus{
			DisruptionsAllowed: budget.Allowed, CurrentHealthy: budget.Healthy, DesiredHealthy: budget.Desired,
		},
	}
}

// object returns a workload with its template; nil for a kind that is not read.
func (w Workload) object() apiObject {
	meta := metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name}
	template := corev1.PodTemplateSpec{Spec: specOf(w.Template)}
	switch w.Kind {
	case deployment:
		return &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Template: template}}
	case replicaSet:
		return &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Template: template}}
	case "StatefulSet":
		return &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Template: template}}
	case daemonSet:
		return &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Template: template}}
	case "ReplicationController":
		return &corev1.ReplicationController{ObjectMeta: meta, Spec: corev1.ReplicationControllerSpec{Template: &template}}
	case job:
		return &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Template: template}}
	case "CronJob":
		cron := &batchv1.CronJob{ObjectMeta: meta}
		cron.Spec.JobTemplate.Spec.Template = template
		return cron
	}
	return nil
}

func (p *Pod) object() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, Labels: p.Labels}, Spec: specOf(p.Scheduling)}
	pod.Spec.NodeName = p.Node
	if p.Owner != (Owner{}) {
		// The version is not known, and not read.
		version := strings.TrimPrefix(cmp.Or(p.Owner.Group, builtIn[p.Owner.Kind])+"/v1", "/")
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: p.Owner.Kind, Name: p.Owner.Name, Controller: ptr.To(true)}}
	}
	if p.Static {
		pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: ""}
	}
	if p.Ready {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	if p.Finished {
		pod.Status.Phase = corev1.PodSucceeded // or failed, which makes no difference
	}
	if p.Terminating {
		pod.DeletionTimestamp = ptr.To(metav1.Unix(0, 0)) // nothing depends on when
	}
	return pod
}

func specOf(scheduling Scheduling) corev1.PodSpec {
	spec := corev1.PodSpec{NodeSelector: scheduling.NodeSelector, Tolerations: scheduling.Tolerations}
	if scheduling.RuntimeClass != "" {
		spec.RuntimeClassName = &scheduling.RuntimeClass
	}
	if scheduling.Affinity != nil {
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: scheduling.Affinity}}
	}
	return spec
}
