package render

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A ParentError says why the parents of a pool lead nowhere.
type ParentError struct {
	// Pool is the name of the pool whose spec.parent is at fault.
	Pool string
	// Parent is what its spec.parent says.
	Parent string
	// Cycle is the way from the pool back to itself, the pool first and last;
	// nil when the parent, or a parent of it, does not exist.
	Cycle []string
	// Missing is the name of the pool that does not exist; empty for a cycle.
	Missing string
}

func (e *ParentError) Error() string {
	switch {
	case e.Cycle != nil:
		return fmt.Sprintf("pool %q encloses itself: %s", e.Pool, strings.Join(e.Cycle, " -> "))
	case e.Missing != e.Parent:
		return fmt.Sprintf("pool %q is within %q, whose enclosing pool %q does not exist", e.Pool, e.Parent, e.Missing)
	default:
		return fmt.Sprintf("pool %q names the parent %q, which does not exist", e.Pool, e.Parent)
	}
}

// lineage returns the pool and the pools that enclose it, the pool first, the
// outermost last. Where its parents lead nowhere, it says why.
func lineage(pool *v1.NodePool, byName map[string]*v1.NodePool) ([]*v1.NodePool, *ParentError) {
	line := []*v1.NodePool{pool}
	names := []string{pool.Name}
	for at := pool; at.Spec.Parent != ""; {
		parent, found := byName[at.Spec.Parent]
		if !found {
			return nil, &ParentError{Pool: pool.Name, Parent: pool.Spec.Parent, Missing: at.Spec.Parent}
		}
		if i := slices.Index(names, parent.Name); i >= 0 {
			// A pool that leads into a cycle without being on it is told about
			// the cycle as the pools on it are.
			return nil, &ParentError{Pool: pool.Name, Parent: pool.Spec.Parent, Cycle: append(names[i:], parent.Name)}
		}
		line, names, at = append(line, parent), append(names, parent.Name), parent
	}
	return line, nil
}
