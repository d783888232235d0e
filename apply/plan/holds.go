package plan

import (
	"errors"
	"maps"
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// Holds are the pools whose changes nodes do not follow for now.
type Holds struct {
	// Blocked wait for an approval, by name: see [HeldReleases].
	Blocked map[string]*ReleaseBlock
	// Gathered are being deleted, and it is not known yet which others are: see
	// [Departing].
	Gathered []string
	// Released are those of the facts that still matter.
	Released map[string]bool
}

// HoldFacts are what holds depend on besides the pools and the nodes of a cluster.
type HoldFacts struct {
	// Released has the names of pools that went when they had released their nodes. A
	// cache of nodes may not have seen that.
	Released map[string]bool
	// Deleting is set where pools were deleted so lately that others may follow.
	Deleting bool
	// DefinitionGoes is set where their CustomResourceDefinition is being deleted, and all pools
	// with it.
	DefinitionGoes bool
}

// MayFollowDefinition reports whether it matters to [HoldsOf] if the CustomResourceDefinition of
// the pools is being deleted: one of them is, and nobody has approved that.
func MayFollowDefinition(pools []*v1.NodePool) bool {
	return slices.ContainsFunc(pools, departsUnapproved)
}

// ErrGathered is why nodes do not follow a pool that is being deleted, for the moment.
var ErrGathered = errors.New("is being deleted, and nodes follow when it is known which other pools are")

// HoldsOf returns the pools whose changes nodes do not follow for now.
func HoldsOf(pools []*v1.NodePool, nodes []*NodeState, facts HoldFacts) Holds {
	h := Holds{Blocked: heldReleases(pools, nodes, facts.DefinitionGoes), Released: map[string]bool{}}
	for name := range facts.Released {
		at := slices.IndexFunc(pools, func(pool *v1.NodePool) bool { return pool.Name == name })
		switch {
		case at >= 0 && !pools[at].DeletionTimestamp.IsZero():
			h.Released[name] = true
		case at < 0 && h.Blocked[name] != nil:
			h.Released[name] = true
			delete(h.Blocked, name)
		}
	}
	if facts.Deleting {
		h.Gathered = Departing(pools, nodes)
	}
	return h
}

// Expand works out pools, those that are held as they were carried out last.
func (h Holds) Expand(pools []*v1.NodePool) *render.Expansion {
	reasons := make(map[string]error, len(h.Blocked)+len(h.Gathered))
	for _, name := range h.Gathered {
		reasons[name] = ErrGathered
	}
	for name, block := range h.Blocked {
		reasons[name] = block
	}
	return render.ExpandHeld(pools, reasons)
}

// Has reports whether a pool is held.
func (h Holds) Has(pool string) bool {
	return h.Blocked[pool] != nil || slices.Contains(h.Gathered, pool)
}

// Names are the pools that are held, in no order.
func (h Holds) Names() []string {
	return slices.AppendSeq(slices.Clone(h.Gathered), maps.Keys(h.Blocked))
}

// Differences are the pools that are held in one of two and not in the other, or for
// another reason, sorted.
func (h Holds) Differences(other Holds) []string {
	var names []string
	for _, name := range slices.Concat(h.Names(), other.Names()) {
		if h.Has(name) != other.Has(name) || (h.Blocked[name] == nil) != (other.Blocked[name] == nil) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
