package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/review"
	"github.com/nodepools/nodepools/render"
)

// explanation is what is printed of a node. The names of its fields are
// documented, and stay.
type explanation struct {
	Node string `json:"node"`
	// Paused tells that the node's annotation keeps everything from being written.
	Paused bool `json:"paused,omitempty"`
	// Problem is why the record cannot be read.
	Problem string          `json:"problem,omitempty"`
	Pools   []explainedPool `json:"pools,omitempty"`
	Keys    []explainedKey  `json:"keys,omitempty"`
	Record  *plan.Record    `json:"record,omitempty"`
}

// explainedPool is a pool that the node is in, or that has keys in its record.
type explainedPool struct {
	Name   string `json:"name"`
	Member bool   `json:"member"`
	// State is active, paused, error, deleting or gone; Problem says more of an
	// error.
	State string `json:"state"`
	// Deleting is true also of a paused pool, which stays until it is resumed.
	Deleting bool   `json:"deleting,omitempty"`
	Problem  string `json:"problem,omitempty"`
	// ChosenBy is how the pool chooses its members.
	ChosenBy string `json:"chosenBy,omitempty"`
	Parent   string `json:"parent,omitempty"`
	// Source, File and Revision are where the pool comes from; none of a
	// pool that was made by hand.
	Source   string `json:"source,omitempty"`
	File     string `json:"file,omitempty"`
	Revision string `json:"revision,omitempty"`
}

// The states of a pool.
const (
	poolActive   = "active"
	poolPaused   = "paused"
	poolError    = "error"
	poolDeleting = "deleting"
	poolGone     = "gone"
)

// explainedKey is a label, an annotation or a taint.
type explainedKey struct {
	Field plan.Field `json:"field"`
	Key   string     `json:"key"`
	Value *string    `json:"value,omitempty"`
	Owner plan.Owner `json:"owner"`
	Pool  string     `json:"pool,omitempty"`
	// Recorded is the value that the pool has put there, Before the one that it
	// found there.
	Recorded *string  `json:"recorded,omitempty"`
	Before   *string  `json:"before,omitempty"`
	Adopted  bool     `json:"adopted,omitempty"`
	WantedBy []string `json:"wantedBy,omitempty"`
	SetBy    []string `json:"setBy,omitempty"`
	// Due is what is about to be done, After the value afterwards.
	Due       due               `json:"due,omitempty"`
	After     *string           `json:"after,omitempty"`
	Conflicts []explainedDenial `json:"conflicts,omitempty"`
	// Contests are there where somebody else keeps changing the key.
	Contests []explainedContest `json:"contests,omitempty"`
	// MoreConflicts is how many pools besides do not get the key.
	MoreConflicts int `json:"moreConflicts,omitempty"`

	status plan.KeyStatus
}

// explainedDenial is a pool that does not get a key.
type explainedDenial struct {
	Pool    string `json:"pool"`
	Want    string `json:"want"`
	Message string `json:"message"`
}

// explainedContest is what the status of a pool says of a key that somebody else keeps
// changing.
type explainedContest struct {
	Pool string `json:"pool"`
	// Nodes is on how many nodes that is so, and Named whether this one is among those
	// that the status names. Else it may be one of the others.
	Nodes    int      `json:"nodes"`
	Named    bool     `json:"named"`
	Managers []string `json:"managers,omitempty"`
	Repairs  int      `json:"repairs"`
	Message  string   `json:"message"`
}

// due is what is about to be done with a key.
type due string

const (
	dueAdd     due = "add"      // put there
	dueChange  due = "change"   // another value of the pool's
	dueTake    due = "takeOver" // somebody else's value is replaced, or adopted
	duePutBack due = "putBack"  // changed by hand
	dueRemove  due = "remove"   // no longer wanted
	dueGive    due = "giveBack" // the earlier value returns
	dueForget  due = "forget"   // no longer wanted, and stays: it is not the pool's any more
	dueRecord  due = "record"   // what the record says of it
)

func explain(node *corev1.Node, pools []*v1.NodePool, expansion *render.Expansion, found *plan.Explanation) *explanation {
	e := &explanation{Node: node.Name, Paused: v1.IsDisabled(node, v1.ReconcileAnnotation)}
	var record plan.Record
	if found.Unreadable != nil {
		e.Problem = found.Unreadable.Err.Error()
	} else if record = found.Plan.Recorded(); !record.Empty() {
		e.Record = &record
	}
	for _, status := range found.Keys {
		e.Keys = append(e.Keys, explainKey(status))
	}
	e.explainContests(pools)
	e.Pools = explainPools(pools, expansion, found, record)
	return e
}

// explainContests adds to the keys what the statuses of pools say of contests.
func (e *explanation) explainContests(pools []*v1.NodePool) {
	contests, _ := plan.ContestsOf(pools)
	for _, contest := range contests {
		named, possible := contest.On(e.Node)
		for i := range e.Keys {
			k := &e.Keys[i]
			if !possible || k.Field != contest.Field || k.Key != contest.Key || k.Pool != contest.Pool && k.Pool != "" {
				continue
			}
			k.Contests = append(k.Contests, explainedContest{
				Pool: contest.Pool, Nodes: contest.Nodes, Named: named, Managers: contest.Managers, Repairs: contest.Repairs,
				Message: review.Contest(contest).Text(),
			})
		}
	}
}

func explainKey(status plan.KeyStatus) explainedKey {
	k := explainedKey{
		Field: status.Field, Key: status.Key, Value: status.Have, Owner: status.Owner, Pool: status.Pool,
		WantedBy: status.WantedBy, SetBy: status.SetBy, Due: dueOf(status), status: status,
	}
	if entry := cmp.Or(status.Recorded, status.Planned); entry != nil {
		k.Before, k.Adopted = entry.Before, entry.Adopted
	}
	if status.Recorded != nil {
		k.Recorded = &status.Recorded.Value
	}
	if k.Due != "" {
		if k.After = status.Have; status.Change != nil {
			k.After = status.Change.After
		}
	}
	for _, conflict := range status.Conflicts {
		k.Conflicts = append(k.Conflicts, explainedDenial{Pool: conflict.Pool, Want: conflict.Want, Message: conflict.String()})
	}
	k.MoreConflicts = status.MoreConflicts
	return k
}

func dueOf(status plan.KeyStatus) due {
	change := status.Change
	switch {
	case !status.Due():
		return ""
	case change == nil && status.Planned == nil:
		return dueForget
	case status.Recorded == nil && status.Planned != nil && status.Planned.Before != nil:
		return dueTake
	case change == nil:
		return dueRecord
	case change.Drift:
		return duePutBack
	case status.Planned == nil && change.After != nil:
		return dueGive
	case change.After == nil:
		return dueRemove
	case change.Before == nil:
		return dueAdd
	default:
		return dueChange
	}
}

// explainPools are the pools that the node is in, and those that it carries keys
// of.
func explainPools(pools []*v1.NodePool, expansion *render.Expansion, found *plan.Explanation, record plan.Record) []explainedPool {
	live := make(map[string]*v1.NodePool, len(pools))
	for _, pool := range pools {
		live[pool.Name] = pool
	}
	concerned := record.Pools()
	for _, name := range found.Members {
		concerned[name] = true
	}
	var all []explainedPool
	for _, name := range slices.Sorted(maps.Keys(concerned)) {
		p := explainedPool{Name: name, Member: slices.Contains(found.Members, name), State: poolGone}
		if pool := live[name]; pool != nil {
			p.describe(pool, expansion)
		}
		all = append(all, p)
	}
	return all
}

func (p *explainedPool) describe(pool *v1.NodePool, pools *render.Expansion) {
	p.State, p.Parent, p.ChosenBy = poolActive, pool.Spec.Parent, chosenBy(pool)
	problem := pools.Problem(pool.Name)
	p.Deleting = !pool.DeletionTimestamp.IsZero()
	switch {
	case v1.IsDisabled(pool, v1.ReconcileAnnotation):
		p.State = poolPaused
	case problem != nil:
		p.State, p.Problem = poolError, problem.Error()
	case p.Deleting:
		p.State = poolDeleting
	}
	p.Source, p.Revision = pool.Labels[v1.SourceLabel], pool.Annotations[v1.RevisionAnnotation]
	p.File = pool.Annotations[v1.FileAnnotation]
}

func chosenBy(pool *v1.NodePool) string {
	switch {
	case pool.Spec.Selector != nil:
		return "selector " + metav1.FormatLabelSelector(pool.Spec.Selector.MetaV1())
	case len(pool.Spec.NodeNames) > 0:
		return "name " + strings.Join(pool.Spec.NodeNames, ", ")
	default:
		return "label " + v1.RoleLabel(pool.Name)
	}
}
