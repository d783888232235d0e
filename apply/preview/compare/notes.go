package compare

import (
	"fmt"
	"path"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// notes say what the reader should know of how revisions were compared.
func (r *revisions) notes() []string {
	var notes []string
	switch {
	case !r.state.NodesKnown && r.Source == "":
		notes = append(notes, "no NodePoolSource is known, so the defaults count: "+defaultPrune+"; what a source notes on its pools is left out, unless --source gives its name")
	case !r.state.NodesKnown:
		notes = append(notes, fmt.Sprintf("how NodePoolSource %q is set up is not known, so the defaults count: %s", r.Source, defaultPrune))
	case r.nodePoolSource == nil:
		notes = append(notes, "the inventory has no NodePoolSource: pools are compared as kubectl apply would bring them, and none is deleted")
	default:
		notes = append(notes, notesOn(r.nodePoolSource)...)
		if taken := path.Clean("./" + r.nodePoolSource.Spec.Path); taken != r.folder {
			notes = append(notes, otherFolder(r.nodePoolSource, taken, r.folder))
		}
		notes = append(notes, notesOnLayers(r.nodePoolSource, r.layers())...)
	}
	if !r.state.NodesKnown {
		notes = append(notes, "what becomes of nodes and pods is not known: --inventory names a file that knows them")
	}
	if untracked := r.head.untracked; len(untracked) > 0 {
		const most = 3
		named := strings.Join(untracked[:min(len(untracked), most)], ", ")
		if more := len(untracked) - most; more > 0 {
			named += fmt.Sprintf(" and %d more", more)
		}
		notes = append(notes, "not tracked by Git, and compared as if committed: "+named)
	}
	if r.moved {
		notes = append(notes, fmt.Sprintf("%s has other pools than the merge base, so merging may do more than what is compared: merge it into the head first", r.tip.title()))
	}
	if r.brokenTip != "" {
		notes = append(notes, r.brokenTip)
	}
	if r.base.missing {
		notes = append(notes, fmt.Sprintf("the base %s has no pool files in %s", r.base.name, r.base.place(r.folder)))
	}
	return notes
}

// defaultPrune are the defaults of a source, in words.
const defaultPrune = "prune: true, pruneLimit: " + v1.DefaultPruneLimit
