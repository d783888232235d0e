package plan

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func TestSourceOutcome(t *testing.T) {
	suspend := func(src *v1.NodePoolSource) { src.Spec.Suspend = true }
	pause := func(src *v1.NodePoolSource) {
		src.Annotations = map[string]string{v1.ReconcileAnnotation: v1.Disabled}
	}
	deletePools := func(src *v1.NodePoolSource) { src.Spec.DeletionPolicy = v1.DeletePools }
	deleted := func(src *v1.NodePoolSource) { src.DeletionTimestamp = ptr.To(metav1.Unix(1, 0)) }
	held := func(src *v1.NodePoolSource) { src.Finalizers = []string{v1.SourceFinalizer} }
	cases := map[string]struct {
		reason string
		edits  []func(*v1.NodePoolSource)
		states []SourceOutcomeState
	}{
		"plain": {"its revisions are applied", nil, []SourceOutcomeState{SourceStateActive}},
		"suspended": {
			"nothing of it is touched", []func(*v1.NodePoolSource){suspend, deletePools},
			[]SourceOutcomeState{SourceStateSuspended},
		},
		"paused": {"the same", []func(*v1.NodePoolSource){pause}, []SourceOutcomeState{SourceStatePaused}},
		"suspended and paused": {
			"both have to be undone", []func(*v1.NodePoolSource){pause, suspend}, []SourceOutcomeState{SourceStateSuspended, SourceStatePaused},
		},
		"deleted": {
			"a pause keeps its pools, and nothing keeps it", []func(*v1.NodePoolSource){deleted, pause},
			[]SourceOutcomeState{SourceStateDeleted, SourceStatePaused},
		},
		"waiting for its pools": {
			"they go first", []func(*v1.NodePoolSource){deleted, held, deletePools}, []SourceOutcomeState{SourceStateDeleting},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			src := &v1.NodePoolSource{}
			for _, edit := range c.edits {
				edit(src)
			}
			if o := SourceOutcomeOf(src); !slices.Equal(o.States, c.states) || o.State() != c.states[0] {
				t.Errorf("source is %v, want %v: %s", o.States, c.states, c.reason)
			}
		})
	}
}
