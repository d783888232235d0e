package render

import (
	"fmt"
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Expansion is a set of pools, indexed so that computing what they want of a
// node costs no more than the pools which that node is in. It is immutable, and
// may be used by many goroutines at once.
type Expansion struct {
	pools   map[string]*pool
	members *memberIndex
	agreed  agreements
	// leaving are the pools that are being deleted: what nodes carry of them is released.
	leaving map[string]bool
	// selected are the label keys that selectors of pools name.
	selected map[string]bool
}

// pool is one pool of an Expansion.
type pool struct {
	name     string
	priority int32
	// rank is the pool's position among all pools.
	rank   int
	policy v1.ConflictPolicy
	// enclosing are the pools around this one, the innermost first.
	enclosing []*pool
	// member is nil where the definition does not say who the members are.
	// unreadable says why, or why they would get a role that the pool may not
	// give.
	member     matcher
	unreadable error

	// problem says why the pool cannot be applied: it gets nothing then, and releases
	// nothing.
	problem error

	definition *v1.NodePool
}

// Expand prepares a set of pools. Of pools that are being deleted everything is released.
// A faulty pool does not affect the others: [Expansion.Problem] returns its error. The
// pools are kept, and must not change.
func Expand(definitions []*v1.NodePool) *Expansion {
	byName := make(map[string]*v1.NodePool, len(definitions))
	e := &Expansion{pools: make(map[string]*pool, len(definitions)), leaving: map[string]bool{}, selected: map[string]bool{}}
	for _, definition := range definitions {
		if !definition.DeletionTimestamp.IsZero() {
			e.leaving[definition.Name] = true
			continue
		}
		byName[definition.Name] = definition
		e.pools[definition.Name] = newPool(definition)
		e.addSelected(definition.Spec.Selector)
	}
	var sound []*pool
	for name := range byName {
		p := e.pools[name]
		if p.problem = e.enclose(p, byName); p.problem == nil {
			sound = append(sound, p)
		}
	}
	e.members = newMemberIndex(sound)
	byRank := func(a, b *pool) int { return CompareRank(a.definition, b.definition) }
	for rank, p := range slices.SortedFunc(slices.Values(sound), byRank) {
		p.rank = rank
	}
	return e
}

// addSelected adds the label keys that a selector names, if there is one.
func (e *Expansion) addSelected(selector *v1.LabelSelector) {
	if selector == nil {
		return
	}
	for key := range selector.MatchLabels {
		e.selected[key] = true
	}
	for _, expression := range selector.MatchExpressions {
		e.selected[expression.Key] = true
	}
}

// Selects reports whether a pool chooses its members by a label, also by its absence.
func (e *Expansion) Selects(label string) bool { return e.selected[label] }

// enclose finds the pools around a pool, and returns a problem of any of them.
// It is a problem of the pool as well: its members are unknown.
func (e *Expansion) enclose(p *pool, byName map[string]*v1.NodePool) error {
	if p.definition.Spec.Parent != "" {
		line, broken := lineage(p.definition, byName)
		if broken != nil {
			return broken
		}
		p.enclosing = make([]*pool, 0, len(line)-1)
		for _, parent := range line[1:] {
			p.enclosing = append(p.enclosing, e.pools[parent.Name])
		}
	}
	if p.unreadable != nil {
		return p.unreadable
	}
	for _, enclosing := range p.enclosing {
		if enclosing.unreadable != nil {
			return fmt.Errorf("enclosing pool %q: %w", enclosing.name, enclosing.unreadable)
		}
	}
	return nil
}

func newPool(definition *v1.NodePool) *pool {
	p := &pool{
		name:       definition.Name,
		priority:   definition.Spec.Priority,
		policy:     definition.Spec.ConflictPolicy,
		definition: definition,
	}
	p.member, p.unreadable = newMatcher(definition)
	return p
}

// Problem returns why a pool cannot be applied: a parent is missing or cyclic
// (a [*ParentError]), or its selector cannot be read. It is nil for a pool without
// a problem, and for one that the expansion does not know.
func (e *Expansion) Problem(name string) error {
	if p, found := e.pools[name]; found {
		return p.problem
	}
	return nil
}

// Defines reports whether there is a pool of a name that is not being deleted.
func (e *Expansion) Defines(name string) bool { return e.pools[name] != nil }

// IsRolloutPolicy reports whether a pool sets a rollout and nothing else: see
// [v1.NodePool.IsRolloutPolicy].
func (e *Expansion) IsRolloutPolicy(name string) bool {
	p, found := e.pools[name]
	return found && p.definition.IsRolloutPolicy()
}

// Leaves reports whether the pool is being deleted, so that its nodes are released.
func (e *Expansion) Leaves(name string) bool { return e.leaving[name] }

// Holds reports whether everything that the pool has put on nodes stays: it is so faulty
// that its desired state is unknown, or there is no such pool, and it was never deleted.
func (e *Expansion) Holds(name string) bool {
	if p, found := e.pools[name]; found {
		return p.problem != nil
	}
	return !e.leaving[name]
}

// HoldsAgainst reports whether a key that a pool has put on nodes stays although another
// pool wants it, or none, which is empty. What is left of a pool that is gone gives way to
// every other pool, and what a faulty pool has to every stronger one.
func (e *Expansion) HoldsAgainst(name, other string) bool {
	p, by := e.pools[name], e.pools[other]
	switch {
	case !e.Holds(name) || name == other || by == nil:
		return e.Holds(name)
	case p == nil:
		return false
	default:
		return CompareRank(p.definition, by.definition) < 0
	}
}

// Node returns what the pools want of the node with this name and these labels.
// The labels must be those that no pool has set, so that pools cannot select on
// each other's labels in a cycle. The result is shared, and must not be
// changed.
func (e *Expansion) Node(name string, labels map[string]string) Desired {
	return e.agreed.of(e.members.of(name, labels, make([]*pool, 0, mostMembers)))
}

// Members returns the names of the pools that a node is in, sorted. They are
// those of [Expansion.Node], for the price of a lookup: to find the nodes among
// thousands that a change of pools affects, the desired state is not needed.
func (e *Expansion) Members(name string, labels map[string]string) []string {
	return namesOf(e.members.of(name, labels, make([]*pool, 0, mostMembers)))
}

// mostMembers is how many pools a node may be in before the lookup allocates.
const mostMembers = 8

func namesOf(pools []*pool) []string {
	names := make([]string, 0, len(pools))
	for _, p := range pools {
		names = append(names, p.name)
	}
	return names
}
