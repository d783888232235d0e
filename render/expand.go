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
	held    map[string]error
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

	// paused pools get nothing and release nothing.
	paused bool
	// problem says why the pool cannot be applied; it is then treated like a
	// paused one, because nothing is released in doubt.
	problem error

	definition *v1.NodePool
}

// Expand prepares a set of pools. Pools that are being deleted count as gone,
// except for paused ones: a pause freezes a pool, also against its deletion. A
// faulty pool does not affect the others: [Expansion.Problem] returns its
// error. The pools are kept, and must not change.
func Expand(definitions []*v1.NodePool) *Expansion { return ExpandHeld(definitions, nil) }

// ExpandHeld is [Expand] where some pools, by name, are frozen for a reason
// that their definitions do not show. Such a pool has the reason as its
// problem. It is also frozen while it is being deleted, and when there is no
// definition of it any more.
func ExpandHeld(definitions []*v1.NodePool, held map[string]error) *Expansion {
	byName := make(map[string]*v1.NodePool, len(definitions))
	for _, definition := range definitions {
		if definition.DeletionTimestamp.IsZero() || v1.IsDisabled(definition, v1.ReconcileAnnotation) || held[definition.Name] != nil {
			byName[definition.Name] = definition
		}
	}
	e := &Expansion{pools: make(map[string]*pool, len(byName)+len(held)), held: held, selected: map[string]bool{}}
	for name, definition := range byName {
		e.pools[name] = newPool(definition)
		e.addSelected(definition.Spec.Selector)
	}
	for name, reason := range held {
		if byName[name] == nil {
			e.pools[name] = &pool{name: name, problem: reason}
		}
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
	if reason := e.held[p.name]; reason != nil {
		return reason
	}
	for _, enclosing := range p.enclosing {
		if reason := e.held[enclosing.name]; reason != nil {
			return fmt.Errorf("enclosing pool %q: %w", enclosing.name, reason)
		}
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
		paused:     v1.IsDisabled(definition, v1.ReconcileAnnotation),
		definition: definition,
	}
	p.member, p.unreadable = newMatcher(definition)
	// The schema refuses these too, but not in a pool that was created before that rule.
	if problems := v1.ValidateRoles(definition); p.unreadable == nil && len(problems) > 0 {
		p.unreadable = problems[0]
	}
	return p
}

// Problem returns why a pool cannot be applied: a parent is missing or cyclic
// (a [*ParentError]), its selector cannot be read, or it gives nodes a role
// that it may not give (a *field.Error). It is nil for a pool without a
// problem, and for one that the expansion does not know.
func (e *Expansion) Problem(name string) error {
	if p, found := e.pools[name]; found {
		return p.problem
	}
	return nil
}

// Held returns the reason for which [ExpandHeld] keeps a pool as it is; nil where it
// does not.
func (e *Expansion) Held(name string) error { return e.held[name] }

// Holds reports whether everything that the pool has put on nodes is frozen:
// the pool is paused, held, or so faulty that its desired state is unknown.
func (e *Expansion) Holds(name string) bool {
	p, found := e.pools[name]
	return found && (p.paused || p.problem != nil)
}

// HoldsAgainst reports whether a key that a frozen pool has put on nodes stays although another
// pool wants it: the frozen pool comes before the other one by rank, or its rank is not known,
// as it is gone.
func (e *Expansion) HoldsAgainst(name, other string) bool {
	p, by := e.pools[name], e.pools[other]
	switch {
	case !e.Holds(name) || name == other || p.definition == nil || by == nil || by.definition == nil:
		return e.Holds(name)
	default:
		return CompareRank(p.definition, by.definition) < 0
	}
}

// HoldsRuntimeClass reports whether the RuntimeClass of the pool is frozen: the
// pool is, or one that encloses it. What a paused pool has put on nodes follows
// its earlier spec, and the RuntimeClass of a pool within must keep selecting
// these nodes.
func (e *Expansion) HoldsRuntimeClass(name string) bool {
	p, found := e.pools[name]
	return e.Holds(name) || found && slices.ContainsFunc(p.enclosing, func(around *pool) bool { return around.paused })
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
