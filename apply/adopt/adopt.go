package adopt

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// Options configure a proposal. The zero value is ready to use.
type Options struct {
	// SelectBy are label keys by which pools may select their members although a
	// kubelet may set them on its own node, the best first.
	SelectBy []string
	// Patterns makes pools that select by names use patterns such as gpu-*, where
	// these match their nodes and no others: nodes that join are members then.
	Patterns bool
	// NoNewRoles proposes no pool whose role label nodes do not carry already. Else
	// each pool that is not of a role puts its own role label on its nodes.
	NoNewRoles bool
	// Exclude are patterns of label and taint keys, as [path.Match] reads them, which
	// no pool gets. Include are those that pools get whoever set them, unless
	// nodepools refuses them.
	Include, Exclude []string
}

// Validate refuses what can be no key, or no pattern of keys. The error begins with the name
// of the option, such as select-by.
func (o Options) Validate() error {
	for _, key := range o.SelectBy {
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			return fmt.Errorf("select-by %q is not the key of a label, such as example.com/pool", key)
		}
	}
	for _, option := range []struct {
		name     string
		patterns []string
	}{{"include", o.Include}, {"exclude", o.Exclude}} {
		for _, pattern := range option.patterns {
			if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
				return fmt.Errorf("%s %q is not a key, or a pattern of keys such as example.com/*", option.name, pattern)
			}
		}
	}
	return nil
}

// Proposal is what there is to adopt in a cluster.
type Proposal struct {
	// Pools are sorted by name.
	Pools []Pool
	// LeftOut is what no pool gets, sorted by reason, field and key.
	LeftOut []LeftOut
	// Unreadable are the nodes whose record cannot be read, sorted. They are not changed.
	Unreadable []string
	// OwnersUnknown is the number of nodes without owners of their labels, so that
	// these are derived from the domains of keys alone.
	OwnersUnknown int
	// Splitting are the label and taint keys that split nodes into the most pools,
	// the worst first: candidates for Options.Exclude where there are too many
	// pools.
	Splitting []string
	// Unused are the keys of Options.SelectBy by which no pool selects.
	Unused []string
}

// Pool is a pool that is proposed.
type Pool struct {
	*v1.NodePool
	// Nodes are the names of its members, sorted.
	Nodes []string
	// NewRole is true where the pool puts its role label on its nodes. It is the one
	// thing that a proposal adds to a node.
	NewRole bool
	// Wider is an alternative for nodeNames: patterns that match the same nodes,
	// and those that join later under such names. Nil where there are none, or
	// nodeNames has them already.
	Wider []string
	// SelectableBy are keys of labels by which provisioners distinguish the nodes
	// of the pool from all others, sorted: candidates for Options.SelectBy.
	SelectableBy []string
}

// LeftOut is a label or taint that no pool gets, and why.
type LeftOut struct {
	Field plan.Field
	// Key of the label; key:effect of a taint.
	Key string
	// Why is the reason: "set by kubelet".
	Why string
	// Nodes are how many carry it.
	Nodes int
}

// Propose finds the pools that carry what the nodes of a cluster carry, with the
// conflict policy Adopt. Applying them changes no label and no taint of any
// node, except for the role labels of pools that have NewRole. The same cluster
// and options give the same proposal.
//
// More pools than a source may hold are a [*TooManyError]. Other errors say that the
// options cannot be read, or that the plan by which the controller writes would change
// something, which is a fault of this package.
func Propose(cluster plan.Cluster, o Options) (*Proposal, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	asked := o.SelectBy
	if o.NoNewRoles { // no pool chooses by another label than that of its role
		o.SelectBy = nil
	}
	s := newSurvey(cluster, o)
	groups := groupNodes(s.nodes)
	chosen := chooseMembers(groups, s, o)
	if len(chosen.roles)+len(chosen.owned) > maxPools && !o.NoNewRoles {
		return nil, &TooManyError{Pools: len(chosen.roles) + len(chosen.owned), Splitting: chosen.splitting()}
	}
	p := &Proposal{Pools: chosen.pools(s, o), Splitting: chosen.splitting(), Unreadable: s.unreadable(), Unused: chosen.unused(asked), OwnersUnknown: s.ownersUnknown}
	p.LeftOut = s.leftOut(chosen, p.Pools, o)
	slices.SortFunc(p.Pools, func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
	if err := p.check(cluster); err != nil {
		return nil, err
	}
	return p, nil
}

// maxPools is how many pools a source may hold.
const maxPools = 10_000

// TooManyError means that nodes differ so much that there would be more pools
// than a source may have.
type TooManyError struct {
	Pools int
	// Splitting are the keys that split the nodes most, the worst first.
	Splitting []string
}

func (e *TooManyError) Error() string {
	return fmt.Sprintf("nodes differ in so many labels and taints that there would be %d pools, more than the %d that a source may hold", e.Pools, maxPools)
}

// Hint returns what to do about it.
func (e *TooManyError) Hint() string {
	return "leave out what distinguishes single nodes: --exclude " + strings.Join(e.Splitting, ",")
}
