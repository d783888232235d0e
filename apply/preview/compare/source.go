package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/api/hint"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/plan"
)

// ChooseSource returns the source that pools are compared as: that of the name, or the
// only one where the name is empty. It is nil where the cluster has none at all, and an
// error where it has several to choose from.
func ChooseSource(state *observe.State, name string) (*v1.NodePoolSource, error) {
	var names []string
	for _, source := range state.Sources {
		if source.Name == name {
			return source, nil
		}
		names = append(names, source.Name)
	}
	slices.Sort(names)
	switch {
	case name != "" && len(names) == 0:
		return nil, hint.Add(fmt.Errorf("there is no NodePoolSource %q", name), state.Kind()+" has none at all; without --source the pools are compared with those made by hand")
	case name != "":
		return nil, hint.Add(fmt.Errorf("there is no NodePoolSource %q", name), state.Kind()+" has: "+strings.Join(names, ", "))
	case len(names) > 1:
		return nil, hint.Add(errors.New(state.Kind()+" has several NodePoolSources"), "say with --source which one the files are of: "+strings.Join(names, ", "))
	case len(names) == 1:
		return state.Sources[0], nil
	}
	return nil, nil
}

// revisionOf is a revision of a source, without its name and its pools. No source stands
// for pools that are made by hand, and of those none is deleted.
func revisionOf(source *v1.NodePoolSource) plan.Revision {
	if source == nil {
		return plan.Revision{}
	}
	return plan.RevisionOf(source, "", nil)
}

// notesOn say what keeps a source from doing what the comparison says.
func notesOn(source *v1.NodePoolSource) []string {
	var notes []string
	for _, state := range plan.SourceOutcomeOf(source).States {
		switch state {
		case plan.SourceStateDeleted, plan.SourceStateDeleting:
			notes = append(notes, fmt.Sprintf("NodePoolSource %q is being deleted: nothing is taken from its repository any more", source.Name))
		case plan.SourceStateSuspended:
			notes = append(notes, fmt.Sprintf("NodePoolSource %q is suspended: nothing changes until it is resumed", source.Name))
		case plan.SourceStatePaused:
			notes = append(notes, fmt.Sprintf("NodePoolSource %q is paused by its annotation %s: nothing changes until it is resumed", source.Name, v1.ReconcileAnnotation))
		}
	}
	return notes
}

// otherFolder says that the pools of another folder are compared than those of a source.
func otherFolder(source *v1.NodePoolSource, folder, compared string) string {
	return fmt.Sprintf("NodePoolSource %q takes its pools from the folder %s of the repository, and not from %s", source.Name, strings.TrimPrefix(folder, "/"), compared)
}

// notesOnLayers say that other layers are compared than those of a source.
func notesOnLayers(source *v1.NodePoolSource, compared []string) []string {
	words := func(layers []string) string {
		if len(layers) == 0 {
			return "all of its folder"
		}
		return "the layers " + strings.Join(layers, ", ")
	}
	if slices.Equal(source.Spec.Layers, compared) {
		return nil
	}
	return []string{fmt.Sprintf("NodePoolSource %q reads %s, and not %s", source.Name, words(source.Spec.Layers), words(compared))}
}
