package plan

import (
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// SourceOutcomeState is the one thing that matters most about a source.
type SourceOutcomeState string

// The states of a source, the first that applies.
const (
	// SourceStateDeleted: it is being deleted, and nothing is to be done for it.
	SourceStateDeleted SourceOutcomeState = "deleted"
	// SourceStateDeleting: it is being deleted, and goes when [Deletion] waits for nothing.
	SourceStateDeleting SourceOutcomeState = "deleting"
	// SourceStateSuspended: its spec suspends it. Nothing is fetched, and its pools stay.
	SourceStateSuspended SourceOutcomeState = "suspended"
	// SourceStatePaused: its annotation pauses it. Nothing is fetched, and its pools stay.
	SourceStatePaused SourceOutcomeState = "paused"
	// SourceStateActive: its revisions are applied.
	SourceStateActive SourceOutcomeState = "active"
)

// SourceOutcome is what becomes of a source before any revision of it is looked at. What
// becomes of its pools is a [SourceDeletion] where it is being deleted, and a
// [RevisionOutcome] where it is active.
type SourceOutcome struct {
	// States are all that apply. The first is the one that counts.
	States []SourceOutcomeState
}

// State is the one that counts.
func (o SourceOutcome) State() SourceOutcomeState { return o.States[0] }

// SourceOutcomeOf decides what becomes of a source.
func SourceOutcomeOf(source *v1.NodePoolSource) SourceOutcome {
	var o SourceOutcome
	switch {
	case source.DeletionTimestamp.IsZero():
	case slices.Contains(source.Finalizers, v1.SourceFinalizer):
		o.States = append(o.States, SourceStateDeleting)
	default:
		o.States = append(o.States, SourceStateDeleted)
	}
	if source.Spec.Suspend {
		o.States = append(o.States, SourceStateSuspended)
	}
	if v1.IsDisabled(source, v1.ReconcileAnnotation) {
		o.States = append(o.States, SourceStatePaused)
	}
	if len(o.States) == 0 {
		o.States = []SourceOutcomeState{SourceStateActive}
	}
	return o
}
