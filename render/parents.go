package render

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A ParentError says why the parents of a pool cannot be resolved.
type ParentError struct {
	// Pool is the name of the pool whose spec.parent is at fault.
	Pool string
	// Parent is the value of its spec.parent.
	Parent string
	// Cycle is the path from a pool back to itself, with that pool first and last;
	// nil unless the parents form a cycle. It begins with Pool, or, where Pool
	// only leads into the cycle, with the first pool on it.
	Cycle []string
	// Missing is the name of the pool that does not exist: the parent, or one of
	// its own parents. Empty when none is missing.
	Missing string
	// TooMany is true when more than 32 pools enclose the pool.
	TooMany bool
}

func (e *ParentError) Error() string {
	switch {
	case e.TooMany:
		return fmt.Sprintf("pool %q: more than %d pools enclose it", e.Pool, MaxAncestors)
	case e.Cycle != nil && e.Cycle[0] != e.Pool:
		return fmt.Sprintf("pool %q is within %q, which encloses itself: %s", e.Pool, e.Cycle[0], strings.Join(e.Cycle, " -> "))
	case e.Cycle != nil:
		return fmt.Sprintf("pool %q encloses itself: %s", e.Pool, strings.Join(e.Cycle, " -> "))
	case e.Missing != e.Parent:
		return fmt.Sprintf("pool %q is within %q, whose enclosing pool %q does not exist", e.Pool, e.Parent, e.Missing)
	default:
		return fmt.Sprintf("pool %q names the parent %q, which does not exist", e.Pool, e.Parent)
	}
}

// lineage returns the pool and the pools that enclose it, the pool first, the
// outermost last. It returns an error where a parent cannot be resolved.
func lineage(pool *v1.NodePool, byName map[string]*v1.NodePool) ([]*v1.NodePool, *ParentError) {
	line := []*v1.NodePool{pool}
	names := []string{pool.Name}
	for at := pool; at.Spec.Parent != ""; {
		parent, found := byName[at.Spec.Parent]
		if !found {
			return nil, &ParentError{Pool: pool.Name, Parent: pool.Spec.Parent, Missing: at.Spec.Parent}
		}
		if i := slices.Index(names, parent.Name); i >= 0 {
			return nil, &ParentError{Pool: pool.Name, Parent: pool.Spec.Parent, Cycle: append(names[i:], parent.Name)}
		}
		if len(line) > MaxAncestors {
			return nil, &ParentError{Pool: pool.Name, Parent: pool.Spec.Parent, TooMany: true}
		}
		line, names, at = append(line, parent), append(names, parent.Name), parent
	}
	return line, nil
}
