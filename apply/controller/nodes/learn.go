package nodes

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/plan"
)

// errLearned is that it is known by now of which pools the API server takes what they change on
// a node, and of which it does not. Another pass is due at once.
var errLearned = errors.New("it is known by now for which pools")

const (
	// maxDryRuns bounds the dry runs of one pass, and maxLearning how long they may take. What
	// they have not got to waits until the next pass, and what is known to be taken is written.
	maxDryRuns  = 48
	maxLearning = 20 * time.Second
	// maxUntried is how many pools are looked at in one pass that were not got to before.
	maxUntried = 16
)

// learn asks by dry runs of which pools the API server refuses what they change on a node, after
// it has refused a write, or, where it has refused nothing, what it takes by now of that which
// it has refused before. It returns errLearned where something is to be written now, and else
// the error of the write.
func (r *Reconciler) learn(ctx context.Context, node *plan.NodeState, pools *fleet.Snapshot, facts plan.NodeFacts, known standing, refused error) error {
	ctx, cancel := context.WithTimeout(ctx, maxLearning)
	defer cancel()
	facts.Rollouts = pools.AllRollouts()
	s := &suspicion{ctx: ctx, applier: r.applier, node: node, pools: pools, facts: facts, outcome: plan.NodeOutcomeOf(node, pools.Expansion, facts)}
	var learned bool
	var err error
	switch {
	case refused != nil:
		learned, err = r.blame(s, facts.Rollouts.Suspects(s.outcome.Admission.Plan))
	case len(known.untried) > 0:
		learned, err = r.try(s, facts.Rollouts.OuterFirst(known.untried)[:min(len(known.untried), maxUntried)])
	default:
		learned, err = r.tryAgain(s, slices.Collect(maps.Keys(known.refused)), known.due)
	}
	switch {
	case err != nil:
		return err
	case learned:
		return errors.Join(errLearned, refused)
	}
	return refused
}

// blame notes which of the suspects the API server refuses. It reports whether there are any.
func (r *Reconciler) blame(s *suspicion, suspects []string) (bool, error) {
	blamed, untried, err := s.search(suspects)
	if errors.Is(err, errUnclear) {
		return false, nil
	}
	if err != nil || len(blamed) == 0 {
		return false, err // or it takes everything by now
	}
	r.refusals.note(s.node.Name, s.node.UID, blamed, untried, s.pools, s.facts.Now)
	return true, nil
}

// try tries pools that wait as they were not got to before. It reports whether some are taken.
func (r *Reconciler) try(s *suspicion, pools []string) (bool, error) {
	before := s.facts.Refused
	blamed, untried, err := s.with(pools).search(pools)
	if errors.Is(err, errUnclear) { // they are tried one by one, later
		blamed, err = map[string]plan.Refusal{}, nil
		for _, pool := range pools {
			blamed[pool] = before[pool]
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
func (r *Reconciler) tryAgain(s *suspicion, all, due []string) (lifted bool, err error) {
	r.refusals.tried(s.node.Name, s.facts.Now)
	tries := [][]string{all}
	for _, pool := range due {
		if len(all) > 1 {
			tries = append(tries, []string{pool})
		}
	}
	still := map[string]plan.Refusal{}
	for _, pools := range tries {
		refusal, err := s.with(pools).refusal(nil)
		switch {
		case err != nil:
			return false, err
		case refusal == nil:
			r.refusals.lift(s.node.Name, pools)
			lifted = true
		case len(pools) == 1:
			still[pools[0]] = s.of(pools[0], said(s.node.Name, refusal))
		}
		if lifted && len(pools) == len(all) {
			return true, nil
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
	dryRuns int
}

// with is the same where some pools are tried that were refused, whatever window or turn they
// wait for.
func (s *suspicion) with(pools []string) *suspicion {
	trying := *s
	trying.facts.Refused = maps.Clone(s.facts.Refused)
	maps.DeleteFunc(trying.facts.Refused, func(pool string, _ plan.Refusal) bool { return slices.Contains(pools, pool) })
	trying.facts.UpToDate, trying.facts.Members = true, s.outcome.Plan.Pools
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
	return s.applier.Refusal(s.ctx, s.node, plan.NodeOutcomeOf(s.node, s.pools.Expansion, facts).Admission.Plan)
}

// of is the refusal of a pool.
func (s *suspicion) of(pool, says string) plan.Refusal {
	return plan.Refusal{Says: says, Leaving: !slices.Contains(s.outcome.Plan.Pools, pool)}
}

// errUnclear is that no pool can be blamed: the API server takes no change of the node at all,
// or does not say the same twice.
var errUnclear = errors.New("it is not known for which pools")

// search finds the pools to blame among suspects. It adds them to nothing, one after the other,
// until the API server refuses it: the last one is to blame, and left out from then on. There
// are none where it takes all of them. What it does not get to is not tried.
func (s *suspicion) search(suspects []string) (blamed, untried map[string]plan.Refusal, err error) {
	whole, err := s.refusal(nil)
	if err != nil || whole == nil {
		return nil, nil, err
	}
	if nothing, err := s.refusal(suspects); err != nil || nothing != nil {
		return nil, nil, cmp.Or(err, errUnclear)
	}
	blamed, untried = map[string]plan.Refusal{}, map[string]plan.Refusal{}
	var without []string
	for taken := 0; whole != nil; { // so many of the suspects are, but for those that are left out
		last := len(suspects)
		for taken+1 < last {
			middle := (taken + last) / 2
			refusal, err := s.refusal(append(slices.Clone(without), suspects[middle:]...))
			switch {
			case err != nil:
				return nil, nil, err
			case refusal == nil:
				taken = middle
			default:
				last, whole = middle, refusal
			}
		}
		if taken >= last {
			return nil, nil, errUnclear
		}
		culprit, says := suspects[last-1], said(s.node.Name, whole)
		blamed[culprit], without, taken = s.of(culprit, says), append(without, culprit), last
		if s.dryRuns >= maxDryRuns {
			for _, pool := range suspects[taken:] {
				untried[pool] = s.of(pool, says)
			}
			break
		}
		if whole, err = s.refusal(without); err != nil {
			return nil, nil, err
		}
	}
	return blamed, untried, nil
}

// said is what the API server says of a node in a refusal, as what is reported of it goes on:
// without its name, so that many nodes share the text.
func said(node string, refusal error) string {
	text := strings.TrimPrefix(refusal.Error(), "write node \""+node+"\": ")
	return "could not be written: " + apply.Brief(errors.New(strings.ReplaceAll(text, "\""+node+"\"", "of this name")))
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
