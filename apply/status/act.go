package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodepools/nodepools/api/command"
	"github.com/nodepools/nodepools/api/hint"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// Verb is what a person does about a pool.
type Verb string

// The verbs of pools.
const (
	Approve  Verb = "approve"
	Resume   Verb = "resume"
	Pause    Verb = "pause"
	Expedite Verb = "expedite"
)

// Act is what a verb does about a pool of the cluster now. Where nothing waits for it, the
// error says so; its hint names the pool for which something does.
func Act(verb Verb, pool *v1.NodePool, cluster Cluster, now time.Time) (*plan.Act, error) {
	turns := turnsOf(cluster, now)
	switch verb {
	case Approve:
		return orElse(turns.approve(pool), fmt.Errorf("nothing of pool %q waits for an approval", pool.Name), turns.elsewhere(pool, Approve, command.Approve))
	case Resume:
		act, err := plan.Resume(pool)
		if err != nil {
			return nil, err
		}
		return orElse(act, fmt.Errorf("nothing of pool %q is paused or halted", pool.Name), turns.elsewhere(pool, Resume, command.Resume))
	case Pause:
		return orElse(plan.Pause(pool), fmt.Errorf("pool %q is paused already", pool.Name), "")
	default:
		return orElse(turns.expedite(pool), fmt.Errorf("no change that is not expedited waits in the rollout of pool %q", pool.Name), turns.elsewhere(pool, Expedite, command.Expedite))
	}
}

func orElse(act *plan.Act, nothing error, remedy string) (*plan.Act, error) {
	if !act.Empty() {
		return act, nil
	}
	if remedy == "" {
		remedy = "'nodepools status' shows what waits for what"
	}
	return nil, hint.Add(nothing, remedy)
}

// elsewhere names the command for another pool whose rollout the nodes of a pool wait for;
// empty where none waits for the verb.
func (t *turns) elsewhere(pool *v1.NodePool, verb Verb, named func(pool string) string) string {
	for _, name := range t.waitedFor(pool.Name) {
		other := t.pools[name]
		if name == pool.Name || other == nil {
			continue
		}
		act := &plan.Act{}
		switch verb {
		case Approve:
			act = t.approve(other)
		case Resume:
			if resumed, err := plan.Resume(other); err == nil {
				act = resumed
			}
		default:
			act = t.expedite(other)
		}
		if !act.Empty() {
			return fmt.Sprintf("its nodes wait in the rollout of pool %q: %s", name, named(name))
		}
	}
	return ""
}

func (t *turns) approve(pool *v1.NodePool) *plan.Act {
	wave := t.waves[pool.Name]
	return plan.ApprovePool(wave, t.next(pool, wave), plan.BlockOf(pool))
}

// next says what follows when the wave after one begins.
func (t *turns) next(pool *v1.NodePool, wave *plan.WaveState) string {
	if wave == nil || pool.Spec.Rollout == nil {
		return ""
	}
	counted := t.rollouts.WaveNodes(pool.Name, t.nodes, time.Time{})
	if wave.Index+1 >= len(counted) {
		return "no wave, as there is none after it"
	}
	next := counted[wave.Index+1]
	text := fmt.Sprintf("wave %s: %d nodes wait in it", next.Wave, len(next.Behind))
	if len(next.Behind) == 1 {
		text = fmt.Sprintf("wave %s: 1 node waits in it", next.Wave)
	}
	if len(next.Behind) > 0 {
		named := slices.Sorted(slices.Values(next.Behind))
		more := ""
		if len(named) > maxNamed {
			more = fmt.Sprintf(" and %d more", len(named)-maxNamed)
		}
		text += " (" + strings.Join(named[:min(len(named), maxNamed)], ", ") + more + ")"
	}
	if pool.Spec.Rollout.Drain != nil {
		text += "; each is drained first"
	}
	return text
}

// expedite is for the changes that wait in the rollout of a pool.
func (t *turns) expedite(pool *v1.NodePool) *plan.Act {
	var waiting []*v1.NodePool
	for name, waits := range t.waits {
		if slices.ContainsFunc(waits, func(wait plan.PoolWait) bool { return slices.Contains(wait.For, pool.Name) }) && t.pools[name] != nil {
			waiting = append(waiting, t.pools[name])
		}
	}
	slices.SortFunc(waiting, func(a, b *v1.NodePool) int { return strings.Compare(a.Name, b.Name) })
	return plan.Expedite(pool, waiting)
}
