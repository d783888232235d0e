package v1

import (
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Rules keep within the costs that Kubernetes 1.30 allows. For a text that is put together
// within a loop it reckons with the longest name that a request could hold, so the rule for
// role labels takes their prefix off, which has 24 characters.

// NodePool is a set of nodes, and what they carry.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="what the pool waits for, or why it is not ready"
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes.desired`,description="nodes that are members"
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.nodes.updated`,description="members that carry all that the pool says"
// +kubebuilder:printcolumn:name="RuntimeClass",type=string,JSONPath=`.status.runtimeClassName`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Contested",type=integer,JSONPath=`.status.contests.nodes`,priority=1,description="members on which somebody else keeps changing a key"
// +kubebuilder:printcolumn:name="Conflicted",type=integer,JSONPath=`.status.nodes.conflicted`,priority=1,description="members on which somebody else holds a key"
// +kubebuilder:printcolumn:name="Waiting",type=integer,JSONPath=`.status.rollout.waiting`,priority=1,description="nodes on which a change of the pool waits"
// +kubebuilder:printcolumn:name="Wave",type=string,JSONPath=`.status.rollout.wave`,priority=1,description="wave that follows, or that others wait for"
// +kubebuilder:printcolumn:name="Parent",type=string,JSONPath=`.spec.parent`,priority=1
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`,priority=1
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.status.revision`,priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be no more than 63 characters: it becomes part of the label key node-role.kubernetes.io/<name>"
// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.parent) || self.spec.parent != self.metadata.name",message="spec.parent must name another pool"
type NodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec NodePoolSpec `json:"spec,omitempty"`
	// status of the pool. A new pool has the observedGeneration -1, as whoever waits for
	// an object takes one without a status for ready.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status NodePoolStatus `json:"status,omitempty"`
}

// NodePoolSpec says which nodes are members and what they carry.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.selector) && has(self.nodeNames))",message="selector and nodeNames exclude each other: a pool's members are chosen in one way"
type NodePoolSpec struct {
	// parent names the pool that encloses this one. The nodes of this pool are
	// then those that are members of the parent as well, so they have the labels,
	// annotations and taints of the parent, too. To override a key of the parent,
	// this pool has a higher priority. The handler is that of the parent unless
	// this pool has one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Parent string `json:"parent,omitempty"`

	// priority decides between pools that want different values for one key on
	// one node: the pool with the higher one has the key. Between equal ones it is
	// the older pool, by its time of creation, then by its name, and the younger
	// pool reports a conflict.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=-2147483648
	// +kubebuilder:validation:Maximum=2147483647
	Priority int32 `json:"priority,omitempty"`

	// selector chooses the members by their labels, leaving out of account the
	// labels that pools put there. It must not be empty. With neither selector
	// nor nodeNames, members are the nodes that are labelled
	// node-role.kubernetes.io/<pool name> with an empty value.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)",message="selector must not be empty: it would match every node; to say just that, use nodeNames: ['*']"
	Selector *LabelSelector `json:"selector,omitempty"`

	// nodeNames chooses the members by name. Each is a name or a pattern, in
	// which * stands for any characters, ? for one, [a-z] for one of a range.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	NodeNames []string `json:"nodeNames,omitempty"`

	// labels that every member carries. With the pool's role label they are the
	// node selector of its RuntimeClass. A kubelet may set most labels of its own
	// node, so a nodeSelector by them alone keeps no pod off other nodes.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('nodes.lailin.xyz/'))",message="label keys under nodes.lailin.xyz/ are kept for the controller"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.matches('^(beta[.])?kubernetes[.]io/(hostname|os|arch)$'))",message="kubernetes.io/hostname, kubernetes.io/os and kubernetes.io/arch, and their beta forms, say what machine a node is and are the kubelet's to set",reason="FieldValueForbidden"
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// annotations that every member carries, keys and values together at most
	// 8192 bytes.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('nodes.lailin.xyz/'))",message="annotation keys under nodes.lailin.xyz/ are kept for the controller"
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`

	// taints that every member carries. A taint is known by its key and effect.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MaxItems=32
	Taints []Taint `json:"taints,omitempty"`

	// handler is the container runtime configuration, as the nodes know it, for
	// pods that choose the pool by its RuntimeClass. Inherited from the parent;
	// runc where nobody says otherwise.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Handler string `json:"handler,omitempty"`

	// conflictPolicy says what happens to a label, annotation or taint that the
	// pool wants and somebody else has already put on a node. Report: it stays,
	// and the pool reports the conflict. TakeOver: the pool's value replaces it,
	// and it comes back when the pool lets go. Adopt: the pool's value replaces
	// it, and from then on it is the pool's, also where it was equal. Keys that
	// belong to Kubernetes or another controller allow Report alone.
	// +optional
	// +kubebuilder:default=Report
	ConflictPolicy ConflictPolicy `json:"conflictPolicy,omitempty"`

	// rollout says when nodes follow a change of the pool; without it, all of them do at
	// once.
	// +optional
	Rollout *Rollout `json:"rollout,omitempty"`
}

// LabelValue is the value of a label: at most 63 characters, may be empty.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
type LabelValue string

// AnnotationValue is the value of an annotation: at most 1024 characters. The
// bound is there because the record on each node repeats the value, and all
// annotations of an object share 256 KiB.
//
// +kubebuilder:validation:MaxLength=1024
type AnnotationValue string

// Taint is a taint that a pool puts on its nodes. It is [corev1.Taint] without
// timeAdded, which is not for a file to say.
//
// +kubebuilder:validation:XValidation:rule="!self.key.startsWith('nodes.lailin.xyz/')",message="taint keys under nodes.lailin.xyz/ are kept for the controller"
type Taint struct {
	// key of the taint, a qualified name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`
	Key string `json:"key"`

	// value of the taint, at most 63 characters; may be empty.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
	Value string `json:"value,omitempty"`

	// effect on pods that do not tolerate the taint.
	// +required
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect corev1.TaintEffect `json:"effect"`
}

// ConflictPolicy says what happens to a key that somebody else holds.
//
// +kubebuilder:validation:Enum=Report;TakeOver;Adopt
type ConflictPolicy string

// The conflict policies. The empty one is Report.
const (
	ReportConflicts ConflictPolicy = "Report"
	TakeOver        ConflictPolicy = "TakeOver"
	Adopt           ConflictPolicy = "Adopt"
)

// NodePoolStatus is how far the pool is carried out.
type NodePoolStatus struct {
	// observedGeneration is the generation of the spec that this status is of; -1 is
	// of none.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions: Ready, Reconciling, Stalled, Conflicted, SelfJoinable,
	// Contested while it is true, and ReleaseBlocked once a change of the pool was held
	// back.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// nodes counts the members. Changed counts are reported once nodes have been unchanged
	// for a second, and within 30 seconds while they come and go without a rest.
	// +optional
	Nodes *NodeCounts `json:"nodes,omitempty"`

	// contests are the keys of the pool that somebody else keeps changing on nodes;
	// absent where there are none.
	// +optional
	Contests *Contests `json:"contests,omitempty"`

	// rollout says how many nodes a change of the pool waits on; absent where it waits on
	// none.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

	// settled is what all nodes have followed of the pool last: its labels and taints, and by what
	// it and the pools around it chose their members. It is there where a rollout says when nodes
	// follow the pool, and serves the controller.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Settled *runtime.RawExtension `json:"settled,omitempty"`

	// runtimeClassName is the RuntimeClass that pods name to run in the pool; empty for a rollout policy.
	// +optional
	RuntimeClassName string `json:"runtimeClassName,omitempty"`

	// accepted is what nodes follow: the spec as it was last accepted. A spec that is
	// paused, not valid, or held back is not accepted, and nodes stay at this one. The
	// write of this field is the moment at which a change by hand counts. Pools of a source
	// count all at once by status.number of their source, and this field follows.
	// +optional
	Accepted *AcceptedSpec `json:"accepted,omitempty"`

	// revision of the source that the pool was last taken from; empty for a pool
	// that does not come from Git.
	// +optional
	Revision string `json:"revision,omitempty"`

	// lastHandledReconcileAt is the value of the annotation
	// nodes.lailin.xyz/requestedAt that was acted on last.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// replacedRuntimeClass is what others have set on the pool's RuntimeClass, from
	// before it is deleted for a new handler until the next one exists. It is part of
	// the status, and no annotation, as whoever may write a pool may write its
	// annotations, and must not set the overhead of a RuntimeClass by that.
	// +optional
	ReplacedRuntimeClass *ReplacedRuntimeClass `json:"replacedRuntimeClass,omitempty"`
}

// AcceptedSpec is a spec that nodes follow.
//
// +structType=atomic
type AcceptedSpec struct {
	// generation of the pool that was accepted. That of a pool that is being deleted is the
	// one with its deletion.
	Generation int64 `json:"generation"`
	// spec of that generation. The controller alone writes it, so it has no schema.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Spec NodePoolSpec `json:"spec,omitempty"`
}

// ReplacedRuntimeClass is what a RuntimeClass passes on to the one that replaces it.
type ReplacedRuntimeClass struct {
	// uid of the RuntimeClass that is replaced.
	UID types.UID `json:"uid"`
	// labels of the RuntimeClass.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// annotations of the RuntimeClass.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// overhead of the RuntimeClass.
	// +optional
	Overhead *nodev1.Overhead `json:"overhead,omitempty"`
}

// NodeCounts counts the members of a pool.
type NodeCounts struct {
	// desired is the number of nodes that are members.
	Desired int32 `json:"desired"`
	// updated is the number of members that carry all that the pool says, or what
	// a pool that goes before it says in its place. One on which a key is contested
	// does not count.
	Updated int32 `json:"updated"`
	// ready is the number of updated members whose condition Ready is true.
	Ready int32 `json:"ready"`
	// conflicted is the number of members on which somebody else holds a key
	// that the pool wants at another value.
	Conflicted int32 `json:"conflicted"`
}

// Contests counts the keys of a pool that somebody else keeps changing, and names
// the first of them.
type Contests struct {
	// nodes is the number of members on which a key is contested.
	Nodes int32 `json:"nodes"`
	// keys is the number of contested keys.
	Keys int32 `json:"keys"`
	// first are the first three of them, by field and key.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	First []ContestedKey `json:"first,omitempty"`
}

// ContestedKey is a label, an annotation or a taint that the controller puts back
// again and again, because somebody else changes it each time.
type ContestedKey struct {
	// field is label, annotation or taint.
	Field string `json:"field"`
	// key of the label or annotation; key:effect of a taint.
	Key string `json:"key"`
	// nodes is the number of members on which the key is contested.
	Nodes int32 `json:"nodes"`
	// nodeNames are the first three of them, by name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	NodeNames []string `json:"nodeNames,omitempty"`
	// managers are field managers that were found to own the key on those nodes while
	// it had to be put back, at most three. Managed fields name nobody for a label or
	// an annotation that is gone; for a taint they name who wrote the list of taints
	// last.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	Managers []string `json:"managers,omitempty"`
	// repairs is how often the key was put back on one of the nodes, at least. It is
	// renewed when it has doubled.
	Repairs int32 `json:"repairs"`
}

// NodePoolList is a list of NodePools.
//
// +kubebuilder:object:root=true
type NodePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodePool `json:"items"`
}
