package v1

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Rollout says when nodes follow a change of their pool: of labels that they have, and of
// NoSchedule and NoExecute taints. What changes on a node at the same time for the same
// pool waits with it. Annotations, PreferNoSchedule taints and new labels alone wait for
// nothing; nor do nodes that join, and what was changed by hand is put back at any time.
//
// The changes of pools within the pool, and of weaker ones on its nodes, wait for it as
// well: a pool of a high priority that has a rollout and nothing else is the rollout of
// all the nodes that it chooses.
//
// +kubebuilder:validation:MinProperties=1
type Rollout struct {
	// windows are when nodes may follow; several are their union. Without windows, that is
	// at any time that is not excluded.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Windows []Window `json:"windows,omitempty"`

	// exclusions are when no node follows, whatever the windows say.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Exclusions []Exclusion `json:"exclusions,omitempty"`

	// maxUnavailable is how many nodes of the pool may be unavailable while they follow one
	// after the other: a number, or a percentage of the nodes, rounded down, and at least
	// 1. A node is unavailable while it is not ready, does not meet nodeConditions, is
	// cordoned, or has followed less than minReady ago; such a node does not begin to follow, unless it has followed a change
	// before. 0 lets none follow. Without it, all nodes follow together.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^(100|[0-9]{1,2})%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 0 && self <= 2147483647",message="maxUnavailable must be a number from 0 up or a percentage from 0% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// minReady is how long a node that has followed counts as unavailable, from 0s, which
	// is the default, to 24h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m|h)){1,4}$`
	MinReady *metav1.Duration `json:"minReady,omitempty"`

	// nodeConditions are conditions that a node must have besides Ready to count as available
	// in the rollout of this pool: in its budget, its waves and their soak, and in what counts
	// as failed. A condition that a node does not have is not met: name only what something
	// sets on every node of the pool.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	NodeConditions []NodeCondition `json:"nodeConditions,omitempty"`

	// waves are parts of the pool that follow one after the other; nodes that are in none
	// of them are the last one. The next wave begins when all nodes of the one before it
	// have followed and are available, its soak is over, and its approval was given.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Waves []Wave `json:"waves,omitempty"`

	// drain has pods evicted before a node gets new NoExecute taints: the Eviction API is
	// asked, which respects PodDisruptionBudgets, while NoSchedule taints of the same keys
	// and values keep others off. Without it, the taints evict at once. The controller needs
	// rights for that: nodepools install --rollout.
	// +optional
	Drain *Drain `json:"drain,omitempty"`

	// order of the nodes that follow one after the other, within a wave. Name, which is the
	// default, is by name; Zone is by their label topology.kubernetes.io/zone, and then by
	// name.
	// +optional
	Order RolloutOrder `json:"order,omitempty"`

	// maxFailures is how many nodes may have failed at the same time before the rollout is
	// halted: a number, or a percentage of the nodes of the pool, rounded down; 0 is the
	// default. A node has failed when it has followed a change in its turn, and is not ready
	// later, or does not meet nodeConditions: within 7 days while its wave is the last one that has begun, or else within 10
	// minutes, minReady and the soak of its wave, whichever is the longest.
	//
	// When a rollout is halted no further node follows, also when the failed ones are ready
	// again, until the annotation nodes.lailin.xyz/resumeRollout says so or the pool no
	// longer says what has failed. A node goes back to what it was before at once.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^(100|[0-9]{1,2})%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 0 && self <= 2147483647",message="maxFailures must be a number from 0 up or a percentage from 0% to 100%"
	MaxFailures *intstr.IntOrString `json:"maxFailures,omitempty"`

	// progressDeadline is how long a rollout may take for its next step, from 1m to 744h (31
	// days): that one more node begins to follow, or the next wave. Without it, any time. Time
	// outside windows, while nodes are not ready yet by minReady, while a wave soaks, or waits
	// for an approval, does not count. After that, the condition Stalled of the pool has the
	// reason ProgressDeadlineExceeded, and the rollout goes on as before.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m|h)){1,4}$`
	ProgressDeadline *metav1.Duration `json:"progressDeadline,omitempty"`

	// paused lets no node follow until it is false.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// Wave is a part of the nodes of a pool. A node is in the first wave that chooses it.
//
// +kubebuilder:validation:XValidation:rule="has(self.nodes) ? type(self.nodes) != int || self.nodes >= 1 && self.nodes <= 2147483647 : has(self.selector)",message="a wave must have a selector, or nodes from 1 up, or both"
type Wave struct {
	// name of the wave, in lower case.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// selector chooses nodes of the pool by their labels, leaving out of account the labels
	// that pools put there.
	// +optional
	Selector *WaveSelector `json:"selector,omitempty"`

	// nodes is how many nodes are in the wave: the first ones by name of those that no
	// earlier wave has, and that the selector chooses. A number, or a percentage of all
	// nodes of the pool, rounded down, and at least 1.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^(100|[1-9][0-9]?)%$`
	Nodes *intstr.IntOrString `json:"nodes,omitempty"`

	// soak is how long to wait after the last node of the wave has begun to follow, from 0s,
	// which is the default, to 744h (31 days).
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m|h)){1,4}$`
	Soak *metav1.Duration `json:"soak,omitempty"`

	// approval says whether the next wave waits for one. Required: it does, until the
	// annotation nodes.lailin.xyz/approveRollout of the pool names what waits and this wave;
	// the message of the condition Reconciling has the value.
	// +optional
	Approval WaveApproval `json:"approval,omitempty"`
}

// NodeCondition is a condition of a node, and the status that it must have.
type NodeCondition struct {
	// type of the condition; Ready always counts, and is none of these.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self != 'Ready'",message="Ready always counts: name others"
	Type string `json:"type"`

	// status that the condition must have; True is the default.
	// +optional
	// +kubebuilder:validation:Enum="True";"False";Unknown
	Status corev1.ConditionStatus `json:"status,omitempty"`
}

// Want is the status that the condition must have.
func (c NodeCondition) Want() corev1.ConditionStatus { return cmp.Or(c.Status, corev1.ConditionTrue) }

// WaveSelector chooses nodes by their labels.
type WaveSelector struct {
	// matchLabels are labels that a node must have, each with its value.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=8
	MatchLabels map[string]LabelValue `json:"matchLabels"`
}

// Drain has pods evicted before a node gets new NoExecute taints. Pods that tolerate them
// for some time are left to the taints, and static ones alone.
type Drain struct {
	// timeout is how long the pods of a node have, from 1m to 744h (31 days); 1h is the
	// default. It runs from when the node begins to follow.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m|h)){1,4}$`
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// onTimeout says what happens then. Hold, which is the default: the taints wait, and
	// evictions are tried again; a drain that a NoSchedule taint of the same key and another
	// value would keep from ending does not begin. Force: the node gets its taints, which end the pods that
	// are left, whatever their PodDisruptionBudgets say; in a window, if there are any.
	// +optional
	OnTimeout DrainTimeout `json:"onTimeout,omitempty"`
}

// DrainTimeout is what happens when pods are left on a node for too long.
//
// +kubebuilder:validation:Enum=Hold;Force
type DrainTimeout string

// What happens when pods are left on a node. The empty one is Hold.
const (
	HoldOnTimeout  DrainTimeout = "Hold"
	ForceOnTimeout DrainTimeout = "Force"
)

// RolloutOrder is the order of the nodes that follow one after the other.
//
// +kubebuilder:validation:Enum=Name;Zone
type RolloutOrder string

// The orders. The empty one is that by name.
const (
	OrderByName RolloutOrder = "Name"
	OrderByZone RolloutOrder = "Zone"
)

// WaveApproval says whether the wave after another waits for an approval.
//
// +kubebuilder:validation:Enum=None;Required
type WaveApproval string

// The approvals. The empty one is none.
const (
	ApprovalNone     WaveApproval = "None"
	ApprovalRequired WaveApproval = "Required"
)

// RolloutStatus is how far nodes are that do not follow a change of their pool yet.
type RolloutStatus struct {
	// waiting is the number of nodes on which a change of the pool waits.
	Waiting int32 `json:"waiting"`

	// change stands for what the pool says by now. Other pools that its changes wait for, and
	// itself, have them follow at once where nodes.lailin.xyz/expediteRollout names it.
	// +optional
	Change string `json:"change,omitempty"`

	// wave is the name of the wave that follows, or is waited for; rest is that of the nodes
	// that are in none. It is absent where the pool has no waves.
	// +optional
	Wave string `json:"wave,omitempty"`

	// over are the waves whose soak is over, and which are approved where that is needed, as the
	// values of nodes.lailin.xyz/approveRollout name them.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	Over string `json:"over,omitempty"`

	// nextWindow is the earliest time at which one of them may follow; absent where no such
	// time was found.
	// +optional
	NextWindow *metav1.Time `json:"nextWindow,omitempty"`

	// halt is why no further node follows: nodes that have followed have failed. One that was
	// resumed stays until all nodes have followed.
	// +optional
	Halt *RolloutHalt `json:"halt,omitempty"`
}

// RolloutHalt is why a rollout goes no further.
type RolloutHalt struct {
	// time of the halt.
	Time metav1.Time `json:"time"`

	// changes stand for the labels and taints of the pools that failed nodes have followed: the
	// halt is over when no pool has these labels and taints any more.
	// +kubebuilder:validation:MaxLength=8192
	Changes string `json:"changes"`

	// resume is the value of nodes.lailin.xyz/resumeRollout that resumes the rollout.
	// +kubebuilder:validation:MaxLength=64
	Resume string `json:"resume"`

	// nodes is the number of nodes that had failed at that time, node the first of them.
	Nodes int32 `json:"nodes"`
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`

	// lacks is what that node had instead of one of nodeConditions, such as "has condition
	// GPUHealthy=False"; absent where it was not ready.
	// +optional
	// +kubebuilder:validation:MaxLength=400
	Lacks string `json:"lacks,omitempty"`

	// resumed reports that somebody has resumed the rollout.
	// +optional
	Resumed bool `json:"resumed,omitempty"`
}
