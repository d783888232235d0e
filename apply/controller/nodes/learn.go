package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/plan"
)

// errLearned is that it is known by now of which pools the API server takes what they change on
// a node, and of which it does not. Another pass is due at once.
var errLearned = errors.New("it is known by now for which pools")

const (
	// maxDryRuns bounds the dry runs of one pass, and maxLearning how long they go on. What they
	// have not got to waits until the next pass, and what is known to be taken is written.
	maxDryRuns  = 48
	maxLearning = 10 * time.Second
	// maxUntried is how many pools are looked at in one pass that were not got to before.
	maxUntried = 16
)

// learn asks by dry runs of which pools the API server refuses what they change on a node, after
// it has refused a write, or, where it has refused nothing, what it takes by now of that which
// it has refused before. It reports whether it has learned something. Of a node that is written
// without a pause, it asks for the walls alone.
func (r *Reconciler) learn(ctx context.Context, node *plan.NodeState, pools *fleet.Snapshot, facts plan.NodeFacts, known standing, refused, walls bool) (learned bool, err error) {
	facts.Rollouts = pools.AllRollouts()
	s := &suspicion{
		ctx: ctx, applier: r.applier, node: node, pools: pools, facts: facts, outcome: plan.NodeOutcomeOf(node, pools.Expansion, facts),
		walls: walls, now: r.repairs.now, ends: r.repairs.now().Add(maxLearning),
	}
	switch {
	case refused:
		return r.blame(s, facts.Rollouts.Suspects(s.outcome.Admission.Plan))
	case len(known.untried) > 0:
		return r.try(s, facts.Rollouts.OuterFirst(known.untried)[:min(len(known.untried), maxUntried)])
	default:
		return r.tryAgain(s, known)
	}
}

// blame notes which of the suspects the API server refuses. It reports whether there are any.
func (r *Reconciler) blame(s *suspicion, suspects []string) (bool, error) {
	blamed, untried, err := s.search(suspects)
	if errors.Is(err, errUnclear) {
		return false, nil
	}
	if err != nil || len(blamed)+len(untried) == 0 {
		return false, err // or it takes everything by now
	}
	r.refusals.note(s.node.Name, s.node.UID, blamed, untried, s.pools, s.facts.Now)
	return true, nil
}

// try tries pools that wait as they were not got to before. It reports whether some are taken.
func (r *Reconciler) try(s *suspicion, pools []string) (bool, error) {
	blamed, untried, err := s.with(pools).search(pools)
	if errors.Is(err, errUnclear) { // they are tried one by one, later
		blamed, err = map[string]plan.Refusal{}, nil
		for _, pool := range pools {
			blamed[pool] = s.facts.Refused[pool]
		}
	}
	if err != nil {
		return false, err
	}
	r.refusals.note(s.node.Name, s.node.UID, blamed, untried, s.pools, s.facts.Now)
	taken := slices.DeleteFunc(slices.Clone(pools), func(pool string) bool {
		_, refused := blamed[pool]
		_, waits := untried[pool]
		return refused || waits
	})
	r.refusals.lift(s.node.Name, taken)
	return len(taken) > 0, nil
}

// tryAgain tries what was refused before: all of it at once, and then those that are due, each
// alone. It reports whether some of it is taken by now.
func (r *Reconciler) tryAgain(s *suspicion, known standing) (lifted bool, err error) {
	if known.waited {
		r.refusals.tried(s.node.Name, s.facts.Now)
	}
	all := slices.Collect(maps.Keys(known.refused))
	if refusal, err := s.with(all).refusal(nil); err != nil || refusal == nil {
		if err == nil {
			r.refusals.lift(s.node.Name, all)
		}
		return err == nil, err
	}
	still := map[string]plan.Refusal{}
	for _, pool := range known.due {
		refusal, err := s.with([]string{pool}).refusal(nil)
		switch {
		case err != nil:
			return lifted, err
		case refusal == nil:
			r.refusals.lift(s.node.Name, []string{pool})
			lifted = true
		default:
			still[pool] = s.of(pool, said(s.node.Name, refusal))
		}
	}
	r.refusals.note(s.node.Name, s.node.UID, still, nil, s.pools, s.facts.Now)
	return lifted, nil
}

// suspicion is that the API server refuses a write of a node for some pools.
type suspicion struct {
	ctx     context.Context
	applier *apply.Applier
	node    *plan.NodeState
	pools   *fleet.Snapshot
	facts   plan.NodeFacts
	outcome plan.NodeOutcome
	// walls reports that it is about these alone: see [plan.NodePlan.Walls].
	walls   bool
	dryRuns int
	now     func() time.Time
	ends    time.Time
}

// spent reports whether no more is to be asked in this pass.
func (s *suspicion) spent() bool { return s.dryRuns >= maxDryRuns || s.now().After(s.ends) }

// with is the same where some pools are tried that were refused, whatever window or turn they
// wait for, or pause of what fights for their keys. Others that wait are left out.
func (s *suspicion) with(pools []string) *suspicion {
	trying := *s
	trying.facts.Refused = map[string]plan.Refusal{}
	maps.Copy(trying.facts.Refused, s.facts.Refused)
	for _, wait := range s.outcome.Wait {
		trying.facts.Refused[wait.Pool] = s.of(wait.Pool, "")
	}
	for _, pool := range pools {
		delete(trying.facts.Refused, pool)
	}
	trying.facts.Tries, trying.facts.Backoff = true, plan.RepairBackoff{}
	return &trying
}

// refusal is what the API server says of the node without what some pools change there; nil
// where it takes that.
func (s *suspicion) refusal(without []string) (refusal, err error) {
	s.dryRuns++
	facts := s.facts
	facts.Refused = maps.Clone(facts.Refused)
	if facts.Refused == nil {
		facts.Refused = map[string]plan.Refusal{}
	}
	for _, pool := range without {
		facts.Refused[pool] = s.of(pool, "")
	}
	p := plan.NodeOutcomeOf(s.node, s.pools.Expansion, facts).Admission.Plan
	if s.walls {
		if p = p.Walls(); p == nil {
			return nil, nil
		}
	}
	return s.applier.Refusal(s.ctx, s.node, p)
}

// of is the refusal of a pool.
func (s *suspicion) of(pool, says string) plan.Refusal {
	return plan.Refusal{Says: says, Leaving: !slices.Contains(s.outcome.Plan.Pools, pool)}
}

// errUnclear is that no pool can be blamed: the API server takes no change of the node at all.
var errUnclear = errors.New("it is not known for which pools")

// search finds the pools to blame among suspects. It adds them to nothing, one after the other,
// until the API server refuses it: the last one is to blame, and left out from then on. There
// are none where it takes all of them. What it does not get to is not tried.
func (s *suspicion) search(suspects []string) (blamed, untried map[string]plan.Refusal, err error) {
	last, err := s.refusal(nil) // what the API server has refused last
	if err != nil || last == nil {
		return nil, nil, err
	}
	if nothing, err := s.refusal(suspects); err != nil || nothing != nil {
		return nil, nil, cmp.Or(err, errUnclear)
	}
	blamed, untried = map[string]plan.Refusal{}, map[string]plan.Refusal{}
	var without []string // whom it has blamed
	taken := 0           // so many of the first suspects are, the others to blame aside
	for again := last; again != nil; {
		refused := len(suspects) // and with so many it is not
		for taken+1 < refused && !s.spent() && err == nil {
			middle := (taken + refused) / 2
			var refusal error
			switch refusal, err = s.refusal(slices.Concat(without, suspects[middle:])); {
			case err != nil:
			case refusal == nil:
				taken = middle
			default:
				refused, last = middle, refusal
			}
		}
		if err != nil || taken+1 != refused {
			break
		}
		culprit := suspects[taken]
		blamed[culprit], without, taken = s.of(culprit, said(s.node.Name, last)), append(without, culprit), refused
		if s.spent() {
			break
		}
		if again, err = s.refusal(without); err != nil {
			break
		}
		if again == nil {
			return blamed, untried, nil
		}
		last = again
	}
	if taken == 0 && err != nil { // nothing is known
		return nil, nil, err
	}
	for _, pool := range suspects[taken:] {
		untried[pool] = s.of(pool, said(s.node.Name, last))
	}
	return blamed, untried, nil
}

// said is what the API server says of a node in a refusal, as what is reported of it goes on:
// without its name, so that many nodes share the text.
func said(node string, refusal error) string {
	text := refusal.Error()
	if status := apierrors.APIStatus(nil); errors.As(refusal, &status) {
		text = status.Status().Message
	}
	for _, kind := range []string{"forbidden", "invalid"} {
		text = strings.TrimPrefix(text, fmt.Sprintf("nodes %q is %s: ", node, kind))
	}
	return "could not be written: " + apply.Brief(errors.New(text))
}

// observeRefusals notes of the pools that wait for it what the API server says.
func observeRefusals(found *observed, wait plan.NodeWait) {
	for _, one := range wait {
		if !one.Refused {
			continue
		}
		if found.Refused == nil {
			found.Refused = map[string]string{}
		}
		found.Refused[one.Pool] = one.Obstacle
	}
}
