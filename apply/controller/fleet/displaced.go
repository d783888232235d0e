package fleet

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nodepools/nodepools/apply/plan"
)

const (
	// podsPeriod is how often pods are listed, while no further node is drained as some find no
	// place, and minPodsPeriod how much time passes, at the least, though another node was
	// drained meanwhile: the API server may have to go through all pods for that.
	podsPeriod    = 10 * time.Second
	minPodsPeriod = 5 * time.Second
)

// pendingPods are those that find no place while nodes are drained. Only the one goroutine
// that gives turns uses them.
type pendingPods struct {
	// list lists such pods; nil where the controller does not.
	list func(context.Context) ([]plan.PendingPod, error)
	// listed is when that was done last, and found what was found, by the rollouts of that
	// time.
	listed time.Time
	found  map[string]plan.Displaced
}

// WithPods has rollouts that drain nodes wait for pods that find no place, which list returns:
// by the API server, and not by a cache.
func (f *Fleet) WithPods(list func(context.Context) ([]plan.PendingPod, error)) *Fleet {
	f.pods.list = list
	return f
}

// decide decides whose turn it is. Pods are listed only where nothing else keeps a node from
// being drained, and others were before.
func (f *Fleet) decide(ctx context.Context, pools *Snapshot, now time.Time, settled bool) plan.Turns {
	nodes := f.turns.known(f.counts.followers(), pools, now)
	displacing := map[string]plan.Displacing{}
	if f.pods.list != nil && settled {
		displacing = pools.Rollouts.Displacing(nodes)
	}
	known := f.pods.known(displacing, now)
	turns := pools.Rollouts.TurnsBeside(known, nodes, f.turns.halts, now, settled)
	again := f.pods.again(displacing, turns, now)
	if !again.IsZero() && !again.After(now) {
		f.listPods(ctx, pools, nodes, displacing, now)
		known = f.pods.known(displacing, now)
		turns = pools.Rollouts.TurnsBeside(known, nodes, f.turns.halts, now, settled)
		again = f.pods.again(displacing, turns, now)
	}
	if again.After(now) && (turns.Again.IsZero() || again.Before(turns.Again)) {
		turns.Again = again
	}
	return turns
}

// known is what is known of pods that find no place. Where they were not listed since
// another node was drained, it is not known whether there are some by now; those that there
// were count still.
func (p *pendingPods) known(displacing map[string]plan.Displacing, now time.Time) map[string]plan.Displaced {
	known := make(map[string]plan.Displaced, len(displacing))
	for pool, since := range displacing {
		is, listed := p.found[pool]
		if !listed || p.due(since, now) && is.Pods == 0 {
			is = plan.Displaced{Unknown: true}
		}
		known[pool] = is
	}
	return known
}

// due reports whether pods have to be listed anew for a rollout.
func (p *pendingPods) due(since plan.Displacing, now time.Time) bool {
	return p.listed.Before(since.Last) || p.listed.After(now) || !now.Before(p.listed.Add(podsPeriod))
}

// again is when pods have to be listed for the rollouts that keep nodes from being drained;
// zero where none does.
func (p *pendingPods) again(displacing map[string]plan.Displacing, turns plan.Turns, now time.Time) (first time.Time) {
	for pool := range turns.Displaced {
		at := p.listed.Add(podsPeriod)
		if _, listed := p.found[pool]; !listed || p.due(displacing[pool], now) {
			at = p.listed.Add(minPodsPeriod)
			if last := displacing[pool].Last; at.Before(last) {
				at = last // what is noted a moment ahead
			}
		}
		if p.listed.IsZero() || p.listed.After(now) {
			at = now
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// listPods lists the pods that find no place. Where that fails, no further node is drained
// until it is done again.
func (f *Fleet) listPods(ctx context.Context, pools *Snapshot, nodes []plan.Follower, displacing map[string]plan.Displacing, now time.Time) {
	f.pods.listed, f.pods.found = now, make(map[string]plan.Displaced, len(displacing))
	displaced, err := f.displaced(ctx, pools, nodes)
	if err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Error(err, "it is not known which pods find no place: no further node is drained")
	}
	for pool := range displacing {
		f.pods.found[pool] = displaced[pool]
		if err != nil {
			f.pods.found[pool] = plan.Displaced{Unknown: true}
		}
	}
}

func (f *Fleet) displaced(ctx context.Context, pools *Snapshot, nodes []plan.Follower) (map[string]plan.Displaced, error) {
	pods, err := f.pods.list(ctx)
	if err != nil || len(pods) == 0 {
		return nil, err
	}
	states, err := f.nodes.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]*plan.NodeState, len(states))
	for _, state := range states {
		byName[state.Name] = state
	}
	return pools.Rollouts.Displaced(nodes, byName, pods), nil
}

// setDisplaced notes which pods keep nodes from being drained, and returns the pools of which
// that is another thing than before. How many there are is a number.
func (t *turns) setDisplaced(displaced map[string]plan.Displaced) map[string]turnsChange {
	t.mu.Lock()
	defer t.mu.Unlock()
	changes, noted := map[string]turnsChange{}, map[string]plan.Displaced{}
	for pool, is := range displaced {
		if is.Pods == 0 {
			continue // it is not known yet
		}
		noted[pool] = is
		switch was := t.displaced[pool]; {
		case was == is:
		case was.First == is.First:
			changes[pool] = turnsChange{Numbers, Elsewhere}
		default:
			changes[pool] = turnsChange{News, News}
		}
	}
	for pool := range t.displaced {
		if noted[pool].Pods == 0 {
			changes[pool] = turnsChange{News, News}
		}
	}
	t.displaced = noted
	return changes
}

// Displaced returns the pods that keep nodes from being drained in the rollout of a pool; none
// where nothing does.
func (f *Fleet) Displaced(pool string) plan.Displaced {
	f.turns.mu.Lock()
	defer f.turns.mu.Unlock()
	return f.turns.displaced[pool]
}
