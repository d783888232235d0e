package plan

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// UnknownSourceUID stands for the UID of a source of which only the name is known.
// No object of an API server has it, so such a source owns what its own revisions
// bring and nothing that is in a cluster.
const UnknownSourceUID types.UID = "unknown"

// isOf reports whether a pool names the source as its owner: the source has applied
// it, or somebody has handed it over. That is enough to update it, and not to
// delete it. The empty UID is that of files without a source: such a pool names
// none.
func isOf(source types.UID, pool *v1.NodePool) bool {
	return pool.Annotations[v1.SourceUIDAnnotation] == string(source)
}

// owns reports whether the source has applied the pool itself. That the annotation
// has its UID does not prove it, as whoever may write pools may write that; the
// managed fields say who did. An object of an API server has them always.
func owns(source types.UID, pool *v1.NodePool) bool {
	return isOf(source, pool) &&
		(source == "" || len(pool.ManagedFields) == 0 || applied(pool).Has(annotationPath(v1.SourceUIDAnnotation)))
}

// owned is how many pools the source has in the cluster.
func (r Revision) owned(live []*v1.NodePool) int {
	count := 0
	for _, pool := range live {
		if pool.DeletionTimestamp.IsZero() && !r.Numbers.isGone(pool) && owns(r.SourceUID, pool) {
			count++
		}
	}
	return count
}

// orphans are the pools of the source that its revision lacks, sorted by name.
func orphans(revision Revision, live []*v1.NodePool) []*v1.NodePool {
	return lacking(revision, live, func(pool *v1.NodePool) bool { return owns(revision.SourceUID, pool) })
}

// unowned are the names of the pools that look as if they were the source's, that
// its revision lacks, and that it has not applied, sorted.
func unowned(revision Revision, live []*v1.NodePool) []string {
	if revision.Source == "" {
		return nil
	}
	var names []string
	for _, pool := range lacking(revision, live, func(pool *v1.NodePool) bool {
		named := isOf(revision.SourceUID, pool) || pool.Labels[v1.SourceLabel] == revision.Source
		return named && !owns(revision.SourceUID, pool)
	}) {
		names = append(names, pool.Name)
	}
	return names
}

// lacking are the pools that the revision lacks, of those that are chosen and are
// neither being deleted nor dropped, sorted by name.
func lacking(revision Revision, live []*v1.NodePool, choose func(*v1.NodePool) bool) []*v1.NodePool {
	wanted := make(map[string]bool, len(revision.Pools))
	for _, definition := range revision.Pools {
		wanted[definition.Pool.Name] = true
	}
	var gone []*v1.NodePool
	for _, pool := range live {
		if !wanted[pool.Name] && pool.DeletionTimestamp.IsZero() && !revision.Numbers.isGone(pool) && choose(pool) {
			gone = append(gone, pool)
		}
	}
	slices.SortFunc(gone, func(a, b *v1.NodePool) int { return cmp.Compare(a.Name, b.Name) })
	return gone
}
