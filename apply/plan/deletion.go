package plan

import (
	"cmp"
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// SourceDeletion is what the deletion of a source does to its pools.
type SourceDeletion struct {
	// Changes delete pools, by name.
	Changes []PoolChange
	// Leaving are the names of the pools that are deleted already and are not gone
	// yet, sorted: their nodes are being released.
	Leaving []string
	// Kept are the names of the pools that stay although the source says Delete,
	// sorted.
	Kept []string
	// Why says why the pools of Kept stay.
	Why string
	// Behind are those of [Behind].
	Behind []string
}

// Waits reports whether there are pools that have to be gone before the source may
// go.
func (d *SourceDeletion) Waits() bool { return len(d.Changes)+len(d.Leaving)+len(d.Behind) > 0 }

// WaitsFor are the names of those pools, sorted.
func (d *SourceDeletion) WaitsFor() []string {
	names := slices.Concat(d.Leaving, d.Behind)
	for _, change := range d.Changes {
		names = append(names, change.Name)
	}
	slices.Sort(names)
	return names
}

const keptByHand = "they are paused or their pruning is disabled"

// Deletion plans what becomes of the pools of a source that is being deleted.
// They stay where its deletionPolicy says so, and where somebody wants something
// to be left alone: all pools of a source that is suspended or paused, and single
// pools that are paused or whose pruning is disabled. Of pools that the source has
// not applied itself nothing becomes.
func Deletion(source *v1.NodePoolSource, live []*v1.NodePool) *SourceDeletion {
	d := &SourceDeletion{Why: allStay(source)}
	keepAll := d.Why != ""
	approved := source.Annotations[v1.ApproveReleaseAnnotation] == v1.DeletionApproval
	d.Behind = Behind(source, live)
	for _, pool := range live {
		switch {
		case !owns(source.UID, pool):
		case keepAll && !pool.DeletionTimestamp.IsZero():
			// Somebody has deleted it by hand, and nobody waits for it.
		case keepAll:
			d.Kept = append(d.Kept, pool.Name)
		case !pool.DeletionTimestamp.IsZero() && isPaused(pool):
			// It stays until somebody resumes it, and nobody waits for that.
			d.Kept, d.Why = append(d.Kept, pool.Name), keptByHand
		case !pool.DeletionTimestamp.IsZero():
			d.Leaving = append(d.Leaving, pool.Name)
		case kept(pool):
			d.Kept, d.Why = append(d.Kept, pool.Name), keptByHand
		default:
			d.Changes = append(d.Changes, PoolChange{Action: Delete, Name: pool.Name, Live: pool, ApproveRelease: approved})
		}
	}
	slices.Sort(d.Leaving)
	slices.Sort(d.Kept)
	slices.SortFunc(d.Changes, func(a, b PoolChange) int { return cmp.Compare(a.Name, b.Name) })
	return d
}

// Behind are the pools that nodes follow by the number of a source alone, as neither
// status.accepted nor a deletion says so yet, sorted. A finalizer keeps the source until there
// are none: its number goes with it.
func Behind(source *v1.NodePoolSource, live []*v1.NodePool) []string {
	var behind []string
	numbers := NumbersOf([]*v1.NodePoolSource{source})
	for _, pool := range live {
		if s := stampOf(pool); s.source == source.UID && numbers.counts(s) && (numbers.isBehind(pool) || numbers.Drops(pool)) {
			behind = append(behind, pool.Name)
		}
	}
	slices.Sort(behind)
	return behind
}

// allStay says why every pool of a source stays when it is deleted; empty where
// they go.
func allStay(source *v1.NodePoolSource) string {
	states := SourceOutcomeOf(source).States
	switch {
	case source.Spec.DeletionPolicy != v1.DeletePools:
		return "spec.deletionPolicy is " + string(v1.OrphanPools)
	case slices.Contains(states, SourceStateSuspended):
		return "the source is suspended"
	case slices.Contains(states, SourceStatePaused):
		return "the source is paused"
	default:
		return ""
	}
}
