package plan

import v1 "github.com/nodepools/nodepools/api/v1"

// RevisionOfUnknown returns a revision of a source of which the name alone is known, or
// not even that. It is set up as a source is by default.
func RevisionOfUnknown(source string) Revision {
	revision := Revision{Source: source, Prune: PrunePolicyOf(&v1.NodePoolSource{})}
	if source != "" {
		revision.SourceUID = UnknownSourceUID
	}
	return revision
}

// Following returns the revision as its source takes it after another one: limits
// count the pools that the source owns by then, and a prune that the first one has
// blocked stays blocked.
func (r Revision) Following(first *Difference) Revision {
	if first.Pools.Blocked == nil {
		r.Prune.Base = first.Pools.OwnedAfter
	}
	r.Prune.Blocked = first.Pools.BlockedPrune
	return r
}
