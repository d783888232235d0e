package inventory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// Inventory is what is known of a cluster.
type Inventory struct {
	// Taken is when it was read, as RFC 3339 has it.
	Taken string
	// Cluster has the nodes, the RuntimeClasses and the NodePools, as a plan needs
	// them.
	plan.Cluster
	Sources []*v1.NodePoolSource
	// Pods that are bound to a node of the cluster, sorted by namespace and name; nil
	// where it is not known which there are. They may share their maps and lists.
	Pods []Pod
	// Waiting are the pods that have no node yet, sorted in the same way. They have no
	// Node, and are not ready.
	Waiting []Pod
	// Workloads that make pods, also those that have none now, sorted.
	Workloads []Workload
	// Budgets are the PodDisruptionBudgets, sorted by namespace and name.
	Budgets []Budget
}

// Owner names what creates a pod: the Deployment rather than its ReplicaSet,
// the CronJob rather than its Job. It is empty for a pod that nothing
// recreates.
type Owner struct {
	// Group is the API group of a kind that is not of Kubernetes itself, which may
	// have the name of one that is, such as apps.kruise.io of a DaemonSet. It is empty
	// for a Deployment of apps, a Job of batch and others that an inventory reads.
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Workload is an owner, and the scheduling of the next pod that it creates.
type Workload struct {
	Owner
	// Template is the scheduling of its pod template, without what admission adds:
	// the node selector and the tolerations of the RuntimeClass.
	Template Scheduling
}

// Scheduling is what decides on which nodes a pod may run, as far as labels and
// taints of nodes go.
type Scheduling = plan.PodScheduling

// Pod is a pod on a node, or one that waits for a node.
type Pod struct {
	Namespace, Name string
	// Node that the pod is bound to; empty for one that waits.
	Node  string
	Owner Owner
	// Labels are those by which PodDisruptionBudgets of its namespace select.
	Labels map[string]string
	// Scheduling is that of the live pod, including what admission has added.
	Scheduling
	// Budgets are the names of the PodDisruptionBudgets of its namespace that
	// select it, sorted.
	Budgets []string
	// Static is a pod that its kubelet reads from a file; the cluster only has a
	// mirror of it.
	Static bool
	// Ready is what a PodDisruptionBudget counts as healthy.
	Ready bool
	// Finished is a pod that has succeeded or failed.
	Finished bool
	// Terminating is a pod that is being deleted already.
	Terminating bool
}

// Budget is a PodDisruptionBudget.
type Budget struct {
	Namespace, Name string
	// Selector selects its pods; see also Pod.Budgets.
	Selector *metav1.LabelSelector
	// Allowed is how many of its pods may be disrupted now, Healthy how many are,
	// and Desired how many shall be at least.
	Allowed, Healthy, Desired int32
}
