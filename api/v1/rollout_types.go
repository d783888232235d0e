package v1

import (
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
	// 1. A node is unavailable while it is not ready, is cordoned, or has followed less than
	// minReady ago; such a node does not begin to follow. 0 lets none follow. Without it,
	// all nodes follow together.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(100|[0-9]{1,2})%$')",message="maxUnavailable must be a number from 0 up or a percentage from 0% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// minReady is how long a node that has followed counts as unavailable, from 0s, which
	// is the default, to 24h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="minReady must be between 0s and 24h"
	MinReady *metav1.Duration `json:"minReady,omitempty"`

	// paused lets no node follow until it is false.
	// +optional
	Paused bool `json:"paused,omitempty"`
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
