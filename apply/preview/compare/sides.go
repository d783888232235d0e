package compare

import (
	"path"
	"slices"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/apply/preview/inventory"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/render"
)

// Sides are the two sides of a comparison: what there is, and what comes.
type Sides struct {
	// Before is the cluster as it is, or as the base would have it.
	Before plan.Cluster
	// Revision is what comes.
	Revision plan.Revision
	// Files are what the revision defines, named as the reader finds them.
	Files []render.Definition
	// Compared names both sides.
	Compared review.Compared
	// Notes are what the reader should know of how it was compared.
	Notes []string
	// Server that Before was read from; nil where none was asked.
	Server *observe.Server

	// source that the revision is of; nil where none is known.
	source *v1.NodePoolSource
	// inventory has Before and its pods; nil where pods are not known.
	inventory *inventory.Inventory
	// sources are those of the cluster.
	sources []*v1.NodePoolSource
	// moment is when it is asked what waits for windows, words what it is called in a
	// sentence; zero where it is not asked.
	moment time.Time
	words  string
	// only are the names of the pools that are compared; nil where all are.
	only map[string]bool
	// emptyWaves are those of the last difference.
	emptyWaves []plan.EmptyWave
}

// Difference plans what comes, as if what has to be approved had been, and all windows
// were open. What waits for one is noted, where [Sides.AddWindowNotes] asks for it.
func (s *Sides) Difference() (*plan.Difference, error) {
	revision := s.Revision
	revision.AssumeApproved = true
	difference, err := plan.Diff(revision, s.Before)
	if err != nil {
		return nil, err
	}
	if s.only != nil {
		difference.Problems = slices.DeleteFunc(difference.Problems, func(problem plan.Problem) bool {
			return problem.Pool != "" && !s.only[problem.Pool]
		})
	}
	s.noteHandovers(difference)
	s.noteWaits(difference)
	s.noteRollouts(difference)
	s.noteEmptyWaves(difference)
	for _, rename := range difference.Renames(s.Before) {
		s.Notes = append(s.Notes, rename.String())
	}
	return difference, nil
}

// Review makes the review of a difference, with what it does to pods where these are
// known.
func (s *Sides) Review(difference *plan.Difference) (*review.Review, error) {
	input := review.Input{Compared: s.Compared, Files: s.Files, Before: s.Before, Difference: difference, Notes: s.Notes, Renames: difference.Renames(s.Before)}
	if !s.moment.IsZero() {
		input.Schedules, input.EmptyWaves = s.schedules(difference), s.emptyWaves
		input.Bypasses, input.Weakenings = difference.Bypasses(s.Before, s.moment), difference.Weakenings(s.moment)
	}
	if s.inventory != nil {
		input.Impact = impact.Of(s.inventory, difference.After(s.Before), s.drains(difference))
	}
	return review.Of(input)
}

// on makes a state the side that is there already.
func (s *Sides) on(state *observe.State) {
	s.Before, s.inventory, s.Server = state.Cluster, state.Inventory, state.Server
	s.sources = state.Sources
	s.Compared.Base = state.Name
	s.Notes = append(s.Notes, state.Notes...)
	if !state.NodesKnown {
		return
	}
	nodes := len(state.Nodes)
	s.Compared.Nodes, s.Compared.Taken = &nodes, state.Taken
	if state.Inventory != nil {
		pods := len(state.Inventory.Pods) + len(state.Inventory.Waiting)
		s.Compared.Pods = &pods
	}
}

// within names the files of pools as the reader finds them: from the root of the
// repository, or from where he is.
func within(folder string, pools []render.Definition) []render.Definition {
	named := slices.Clone(pools)
	for i := range named {
		named[i].File = path.Join(folder, named[i].File)
	}
	return named
}
