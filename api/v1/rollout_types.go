package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
}

// RolloutStatus is how far nodes are that do not follow a change of their pool yet.
type RolloutStatus struct {
	// waiting is the number of nodes on which a change of the pool waits.
	Waiting int32 `json:"waiting"`

	// nextWindow is the earliest time at which one of them may follow; absent where no such
	// time was found.
	// +optional
	NextWindow *metav1.Time `json:"nextWindow,omitempty"`
}
