package inventory

import (
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// The version and the kind of an inventory file. A file of another version is
// refused: fields that are not understood could matter.
const (
	APIVersion = "inventory.nodes.lailin.xyz/v1"
	Kind       = "Inventory"
)

// Unknown is the value of an annotation of a node that a file has without its
// value. It differs from every value that a pool may want, so that a plan takes
// it for somebody else's.
const Unknown = "(not in the inventory)"

// itself represents, in a label or an affinity, the name of the node. It is
// neither a valid value of a label nor a valid name of a node.
const itself = "$node"

// These types define the file, and with it the version. Equal objects are
// grouped, so that the file stays short and a change of one object is a change
// of one line.
type file struct {
	APIVersion     string         `json:"apiVersion"`
	Kind           string         `json:"kind"`
	Taken          string         `json:"taken,omitempty"`
	Pools          []filePool     `json:"nodePools"`
	Sources        []fileSource   `json:"nodePoolSources"`
	RuntimeClasses []fileClass    `json:"runtimeClasses"`
	Nodes          []fileNodes    `json:"nodes"`
	Budgets        []fileBudget   `json:"podDisruptionBudgets,omitempty"`
	Workloads      []fileWorkload `json:"workloads"` // null where pods are not known
}

// filePool is a NodePool. Its UID is there because RuntimeClasses are owned by it.
type filePool struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid,omitempty"`
	// Created decides between pools of equal priority. In a file without it, all its
	// pools are of one age, and older than those that a revision adds.
	Created     *metav1.Time      `json:"created,omitempty"`
	Deleting    bool              `json:"deleting,omitempty"`
	Finalizers  []string          `json:"finalizers,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Spec        v1.NodePoolSpec   `json:"spec"`
	// Generation, what was observed, and ReleaseBlocked decide whether the pool waits for
	// an approval.
	Generation               int64                  `json:"generation,omitempty"`
	ObservedMembership       string                 `json:"observedMembership,omitempty"`
	ObservedOuterPools       []v1.ObservedOuterPool `json:"observedOuterPools,omitempty"`
	ObservedSourceMembership string                 `json:"observedSourceMembership,omitempty"`
	ReleaseBlocked           bool                   `json:"releaseBlocked,omitempty"`
	// Frozen reports that its status is from a time at which it was paused or held.
	Frozen bool `json:"frozen,omitempty"`
	// Managed are the labels and annotations that came from Git, and AlsoApplied
	// those of them that others have set as well. Managed is null where it is not
	// known.
	Managed     *fileKeys `json:"managed,omitempty"`
	AlsoApplied *fileKeys `json:"alsoApplied,omitempty"`
	// Contests are status.contests.
	Contests *v1.Contests `json:"contests,omitempty"`
	// Halt is status.rollout.halt, Over status.rollout.over, and Settled status.settled.
	Halt    *v1.RolloutHalt       `json:"halt,omitempty"`
	Over    string                `json:"over,omitempty"`
	Settled *runtime.RawExtension `json:"settled,omitempty"`
	// Replaced is status.replacedRuntimeClass.
	Replaced *v1.ReplacedRuntimeClass `json:"replacedRuntimeClass,omitempty"`
}

type fileKeys struct {
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
}

// fileSource is a NodePoolSource. Its UID is there because pools are owned by it.
type fileSource struct {
	Name        string                `json:"name"`
	UID         types.UID             `json:"uid"`
	Deleting    bool                  `json:"deleting,omitempty"`
	Annotations map[string]string     `json:"annotations,omitempty"`
	Spec        v1.NodePoolSourceSpec `json:"spec"`
	Revision    string                `json:"revision,omitempty"`
	PruneBase   int32                 `json:"pruneBase,omitempty"`
	// BlockedPrune is status.blockedPrune.
	BlockedPrune *v1.BlockedPrune `json:"blockedPrune,omitempty"`
	// ApprovalUsed is status.lastHandledPruneApproval.
	ApprovalUsed string `json:"lastHandledPruneApproval,omitempty"`
	// ReleaseApprovalUsed is status.lastHandledReleaseApproval, and ReleaseBlocked the
	// revision that is held back for its releases.
	ReleaseApprovalUsed string `json:"lastHandledReleaseApproval,omitempty"`
	ReleaseBlocked      string `json:"releaseBlocked,omitempty"`
}

type fileClass struct {
	Name        string            `json:"name"`
	Deleting    bool              `json:"deleting,omitempty"`
	Finalizers  []string          `json:"finalizers,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Pool is its only owner. Otherwise its owners are written out.
	Pool       string                  `json:"pool,omitempty"`
	Owners     []metav1.OwnerReference `json:"ownerReferences,omitempty"`
	Handler    string                  `json:"handler"`
	Overhead   *nodev1.Overhead        `json:"overhead,omitempty"`
	Scheduling *nodev1.Scheduling      `json:"scheduling,omitempty"`
}

// fileNodes are nodes that are alike.
type fileNodes struct {
	// Names are names and ranges of names: gpu-[001-037].
	Names         []string `json:"names"`
	Unschedulable bool     `json:"unschedulable,omitempty"`
	// NotReady reports that their condition Ready is not true.
	NotReady bool `json:"notReady,omitempty"`
	// Conditions are types and statuses, sorted: DiskPressure=False,GPUHealthy=True. They are
	// null where they are not known, as in a file of an earlier version.
	Conditions *string `json:"conditions,omitempty"`
	// Labels that all have. The value $node is the node's own name.
	Labels map[string]string `json:"labels,omitempty"`
	// Own are the labels of which nearly every node has another value: by key, and
	// by node, named as in Pods.
	Own         map[string]map[string]string `json:"ownLabels,omitempty"`
	Taints      []corev1.Taint               `json:"taints,omitempty"`
	Annotations map[string]string            `json:"annotations,omitempty"`
	// Others are the keys of annotations that do not concern pools.
	Others []string `json:"otherAnnotations,omitempty"`
	// AlsoApplied are the labels and annotations of pools that others apply as well.
	AlsoApplied *fileKeys `json:"alsoApplied,omitempty"`
	// SetBy has who set labels and taints, by field manager. The owners of all
	// others are not known.
	SetBy map[string]fileSet `json:"setBy,omitempty"`
}

// fileSet is what a field manager has set: labels by their keys, and the taints, which
// are one list.
type fileSet struct {
	Labels []string `json:"labels,omitempty"`
	Taints bool     `json:"taints,omitempty"`
}

type fileBudget struct {
	Namespace string                `json:"namespace"`
	Name      string                `json:"name"`
	Selector  *metav1.LabelSelector `json:"selector,omitempty"`
	Allowed   int32                 `json:"allowed"`
	Healthy   int32                 `json:"healthy"`
	Desired   int32                 `json:"desired"`
}

// fileWorkload is what creates pods, and the pods. Those that nothing creates
// are under their namespace alone.
type fileWorkload struct {
	// Group is left out for kinds of Kubernetes itself.
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace"`
	Name      string `json:"name,omitempty"`
	// Template is null where the scheduling of the next pod is not known.
	Template *fileScheduling `json:"template,omitempty"`
	Pods     []filePods      `json:"pods,omitempty"`
}

// fileScheduling has the fields of a pod's spec.
type fileScheduling struct {
	RuntimeClass string               `json:"runtimeClassName,omitempty"`
	NodeSelector map[string]string    `json:"nodeSelector,omitempty"`
	Affinity     *corev1.NodeSelector `json:"requiredNodeAffinity,omitempty"`
	Tolerations  []corev1.Toleration  `json:"tolerations,omitempty"`
}

// filePods are pods of a workload that are alike.
type filePods struct {
	// Waiting pods have no node: each line of Pods is the rest of a name alone.
	Waiting     bool     `json:"waiting,omitempty"`
	Static      bool     `json:"static,omitempty"`
	NotReady    bool     `json:"notReady,omitempty"`
	Finished    bool     `json:"finished,omitempty"`
	Terminating bool     `json:"terminating,omitempty"`
	Budgets     []string `json:"podDisruptionBudgets,omitempty"`
	fileScheduling
	// Defaults are there, after the tolerations: those of 300 seconds for nodes that
	// are not ready or unreachable, which the API server gives every pod. More come
	// after them; it gives a pod those of its RuntimeClass last.
	Defaults bool                `json:"defaultTolerations,omitempty"`
	More     []corev1.Toleration `json:"moreTolerations,omitempty"`
	// Prefix is what the names begin with.
	Prefix string `json:"prefix,omitempty"`
	// Pods are each a node and the rest of the name: "gpu-001 x7k2p". Where there is
	// no rest, it is the name of the node. A node is named by the part before the
	// first dot, where that is unique.
	Pods []string `json:"pods"`
}
