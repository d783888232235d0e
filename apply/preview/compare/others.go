package compare

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/nodepools/nodepools/apply/plan"
)

// others are the other sources of the inventory that follow the same ref of the repository, as
// they are once they have read the head: pools move between their folders.
func (r *revisions) others(ctx context.Context) []plan.OtherSource {
	if r.nodePoolSource == nil {
		return nil
	}
	const head = "head"
	of := plan.Reading{Source: r.nodePoolSource, Good: head}
	var readings []plan.Reading
	for _, src := range r.state.Sources {
		if src.UID == r.nodePoolSource.UID || !plan.SameRef(r.nodePoolSource, src) {
			continue
		}
		theirs := end{what: head, name: r.head.name, revision: r.head.revision, layers: src.Spec.Layers}
		refused := theirs.load(ctx, r.repository, path.Clean("./"+src.Spec.Path)) != nil
		readings = append(readings, plan.Reading{Source: src, Generation: src.Generation, Good: head, Pools: theirs.definitions, Refused: refused})
	}
	others := plan.OtherSources(of, readings, time.Time{})
	for i := range others {
		others[i].Waits = false // all windows are open
	}
	return others
}

// noteHandovers says which pools are not deleted, as another source has them.
func (s *Sides) noteHandovers(difference *plan.Difference) {
	for _, handed := range difference.Pools.Handed {
		s.Notes = append(s.Notes, fmt.Sprintf("pool %q moves to NodePoolSource %q, which takes it up: it is not deleted, and its nodes keep what they have", handed.Pool, handed.To))
	}
}
