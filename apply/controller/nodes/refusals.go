package nodes

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/plan"
)

// errBlamed is that a write was refused, and that it is known by now for which pool. The next
// pass leaves that one out.
var errBlamed = errors.New("refused for a pool that is known by now")

const (
	// firstRefusal is for how long nothing is written of a pool where the API server has
	// refused that; it is twice as long each time that it does so again, up to maxRefusal.
	firstRefusal = 10 * time.Second
	maxRefusal   = 15 * time.Minute
	// maxHints is how many pools that were refused on other nodes are tried before all others.
	maxHints = 4
)

// refusals keeps of which pools the API server does not take what they change on nodes.
type refusals struct {
	mu    sync.Mutex
	nodes map[string]map[string]refusal // by node and pool
	// lately are the pools that were refused last on any node, the last one first.
	lately []string
	// searching is held by the one pass that asks pool by pool.
	searching sync.Mutex
}

// refusal is one until a time, of a pool as it has been since an epoch.
type refusal struct {
	plan.Refusal
	since  uint64
	until  time.Time
	period time.Duration
}

func newRefusals() *refusals { return &refusals{nodes: map[string]map[string]refusal{}} }

// of are the refusals of a node that stand, of pools that are still as they were then, and
// when the first of them ends; zero for none.
func (r *refusals) of(node string, pools *fleet.Snapshot, now time.Time) (standing map[string]plan.Refusal, ends time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for pool, one := range r.nodes[node] {
		if one.since != pools.Since(pool) || !now.Before(one.until) {
			continue
		}
		if standing == nil {
			standing = map[string]plan.Refusal{}
		}
		standing[pool] = one.Refusal
		if ends.IsZero() || one.until.Before(ends) {
			ends = one.until
		}
	}
	return standing, ends
}

// note notes that a pool was refused on a node.
func (r *refusals) note(node, pool string, found plan.Refusal, pools *fleet.Snapshot, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.nodes[node]
	if of == nil {
		of = map[string]refusal{}
		r.nodes[node] = of
	}
	maps.DeleteFunc(of, func(name string, one refusal) bool { // nothing is to be known of it any more
		return one.since != pools.Since(name) || now.After(one.until.Add(maxRefusal))
	})
	period := min(max(firstRefusal, 2*of[pool].period), maxRefusal)
	of[pool] = refusal{found, pools.Since(pool), now.Add(period), period}
	r.lately = slices.DeleteFunc(r.lately, func(name string) bool { return name == pool })
	r.lately = slices.Insert(r.lately, 0, pool)
	r.lately = r.lately[:min(len(r.lately), maxHints)]
}

// hints are those of some pools that were refused lately.
func (r *refusals) hints(suspects []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.lately), func(pool string) bool { return !slices.Contains(suspects, pool) })
}

func (r *refusals) forget(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.nodes, node)
}

// blame finds the pool of which the API server does not take what it changes on a node, and
// notes it. It reports whether it has found one: not where nothing at all may be written, nor
// where each pool alone would do.
func (r *Reconciler) blame(ctx context.Context, node *plan.NodeState, pools *fleet.Snapshot, facts plan.NodeFacts, refused error) (found bool, err error) {
	facts.Rollouts = pools.AllRollouts()
	outcome := plan.NodeOutcomeOf(node, pools.Expansion, facts)
	s := &suspicion{ctx, r.applier, node, pools, facts, outcome.Plan.Pools}
	suspects := facts.Rollouts.Suspects(outcome.Admission.Plan)
	culprit := ""
	for _, hint := range r.refusals.hints(suspects) {
		takes, err := s.takes([]string{hint})
		if err != nil {
			return false, err
		}
		if takes {
			culprit = hint
			break
		}
	}
	if culprit == "" {
		if !r.refusals.searching.TryLock() { // one at a time: nodes may be many
			return false, nil
		}
		defer r.refusals.searching.Unlock()
		if culprit, err = s.search(suspects); err != nil || culprit == "" {
			return false, err
		}
	}
	refusal := plan.Refusal{Says: apply.Brief(refused), Leaving: !slices.Contains(s.members, culprit)}
	r.refusals.note(node.Name, culprit, refusal, pools, facts.Now)
	return true, nil
}

// suspicion is that the API server refuses a write of a node for some pool.
type suspicion struct {
	ctx     context.Context
	applier *apply.Applier
	node    *plan.NodeState
	pools   *fleet.Snapshot
	facts   plan.NodeFacts
	members []string // the pools that the node is in
}

// without is what would be written of a node if some more pools were refused.
func (s *suspicion) without(pools []string) *plan.NodePlan {
	facts := s.facts
	facts.Refused = maps.Clone(facts.Refused)
	if facts.Refused == nil {
		facts.Refused = map[string]plan.Refusal{}
	}
	for _, pool := range pools {
		facts.Refused[pool] = plan.Refusal{Leaving: !slices.Contains(s.members, pool)}
	}
	return plan.NodeOutcomeOf(s.node, s.pools.Expansion, facts).Admission.Plan
}

// takes reports whether the API server takes what would be written then.
func (s *suspicion) takes(without []string) (bool, error) {
	return s.applier.Takes(s.ctx, s.node, s.without(without))
}

// search adds suspects to nothing until the API server refuses it: the last one is to blame.
// It is empty where it is none of them.
func (s *suspicion) search(suspects []string) (string, error) {
	taken, refused := 0, len(suspects) // so many of the first ones are
	if takes, err := s.takes(suspects); err != nil || !takes {
		return "", err
	}
	for taken+1 < refused {
		middle := (taken + refused) / 2
		takes, err := s.takes(suspects[middle:])
		switch {
		case err != nil:
			return "", err
		case takes:
			taken = middle
		default:
			refused = middle
		}
	}
	if refused == 0 {
		return "", nil
	}
	return suspects[refused-1], nil
}

// observeRefusals says of the pools that wait for it what the API server says, and when they
// are tried again.
func (r *Reconciler) observeRefusals(found *observed, outcome plan.NodeOutcome, facts plan.NodeFacts, ends time.Time) {
	for _, wait := range outcome.Wait {
		if wait.Obstacle == "" {
			continue
		}
		if refusal, refused := facts.Refused[wait.For[0]]; refused {
			if found.Refused == nil {
				found.Refused = map[string]string{}
			}
			found.Refused[wait.Pool] = "could not be written: " + refusal.Says
		}
	}
	if !ends.IsZero() {
		found.again = loop.Sooner(found.again, max(ends.Sub(facts.Now), loop.AtOnce))
	}
}
