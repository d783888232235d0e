package pools

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/api/command"
	"github.com/nodepools/nodepools/api/sanitize"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/plan"
)

// facts are what is known of the nodes of a pool that wait. Before a pass over every node
// has ended, since the start and since the pool has changed, it is not known which do.
func (r *Reconciler) facts(ctx context.Context, pool *v1.NodePool, pools *fleet.Snapshot) (plan.PoolFacts, error) {
	if pools.Rollouts == nil {
		return plan.PoolFacts{}, nil
	}
	known, err := r.fleet.EveryNodeObserved(ctx)
	if err != nil {
		return plan.PoolFacts{}, err
	}
	facts := plan.PoolFacts{Rollouts: pools.Rollouts, Now: r.now()}
	since := pools.Since(pool.Name)
	steps, settled := r.fleet.Steps(pool.Name, since)
	facts.Steps = steps
	facts.Undecided = !(known && settled) && pools.Rollouts.MayWait(pool.Name, facts.Now)
	if pool.IsRolloutPolicy() {
		counts, settled := r.fleet.Counts(pool.Name, since)
		facts.Carried = !(known && settled) || counts.Recorded > 0
	}
	return facts, nil
}

// turnsOf are how far the rollouts are of a pool, and of those that it waits for. A halt in
// the status of the pool goes on until it is known what has become of it.
func (r *Reconciler) turnsOf(pool *v1.NodePool, pools *fleet.Snapshot, counts fleet.Counts) rolloutFacts {
	facts := rolloutFacts{waves: map[string]*plan.WaveState{}, halts: map[string]*plan.Halt{}, stuck: map[string]plan.Stuck{}, unavailable: map[string]plan.Unavailable{}}
	if latches, known := r.fleet.Latches(pool.Name); known {
		facts.over = pools.Rollouts.Over(pool.Name, latches)
	} else if pool.Status.Rollout != nil {
		facts.over = pool.Status.Rollout.Over
	}
	names := []string{pool.Name}
	for wait := range counts.Waits {
		names = append(names, wait.For...)
	}
	for _, name := range names {
		if state := r.fleet.Wave(name); state != nil {
			facts.waves[name] = state
		}
		halt, known := r.fleet.Halt(name)
		if !known {
			halt = pools.Halt(name)
		}
		if halt != nil {
			facts.halts[name] = halt
		}
		if stuck, found := r.fleet.Stuck(name); found {
			facts.stuck[name] = stuck
		}
		if unavailable := r.fleet.Unavailable(name); !unavailable.None() {
			facts.unavailable[name] = unavailable
		}
	}
	return facts
}

// rolloutStatus is nil where no change of the pool waits, and its waves have all followed.
func rolloutStatus(pool *v1.NodePool, facts poolFacts) *v1.RolloutStatus {
	first, wave, halt := firstWait(facts.counts), facts.waves[pool.Name], facts.halts[pool.Name]
	if first == nil {
		first = facts.outcome.ClassWait
	}
	if first == nil && wave == nil && halt == nil {
		return nil
	}
	status := &v1.RolloutStatus{Waiting: int32(facts.counts.Waiting()), Halt: halt.Status(), Over: facts.over}
	if status.Waiting > 0 {
		status.Change = plan.ChangeID(pool)
	}
	if wave != nil {
		status.Wave = wave.Wave
	}
	if first != nil && !first.Next.IsZero() {
		status.NextWindow = &metav1.Time{Time: first.Next}
	}
	return status
}

// firstWait is the wait that ends first.
func firstWait(counts fleet.Counts) *plan.PoolWait {
	return plan.FirstWait(slices.Collect(maps.Keys(counts.Waits)))
}

// firstWave is the first of the waves that a wait for a turn is for, with its pool; nil
// where it is for none.
func firstWave(wait *plan.PoolWait, waves map[string]*plan.WaveState) (pool string, wave *plan.WaveState) {
	for _, name := range wait.For {
		if wait.Turn && waves[name] != nil {
			return name, waves[name]
		}
	}
	return "", nil
}

// halted is the halt of a pool, or of one that its changes wait for, with the name of that
// pool; nil where there is none.
func halted(pool string, facts poolFacts) (string, *plan.Halt) {
	for _, name := range takingTurns(pool, facts) {
		if halt := facts.halts[name]; halt.Holds() {
			return name, halt
		}
	}
	return "", nil
}

// takingTurns are a pool, and those in whose rollouts its nodes wait for their turn.
func takingTurns(pool string, facts poolFacts) []string {
	names := []string{pool}
	if wait := firstWait(facts.counts); wait != nil && wait.Turn {
		names = append(names, wait.For...)
	}
	return names
}

// isStuck reports whether the next step of the rollout of a pool, or of one that its changes
// wait for, takes too long.
func isStuck(pool string, facts poolFacts) bool {
	return slices.ContainsFunc(takingTurns(pool, facts), func(name string) bool { _, stuck := facts.stuck[name]; return stuck })
}

// describeStuck says since when nothing has happened, and what is waited for.
func describeStuck(pool string, facts poolFacts) listing {
	var named []string
	for _, name := range takingTurns(pool, facts) {
		if stuck, found := facts.stuck[name]; found {
			named = append(named, sanitize.Line(fmt.Sprintf("in the rollout of pool %q %s", name, stuck)))
		}
	}
	switch f := facts.counts; {
	case len(f.Evicting) > 0:
		named = append(named, problemsOf(f.Evicting).named...)
	case f.Waiting() > 0:
		named = append(named, describeWait(facts))
	}
	return listing{named: named}
}

// describeHalt says why no further node follows, and how to go on.
func describeHalt(pool string, halt *plan.Halt) string {
	return sanitize.Line(fmt.Sprintf("the rollout of pool %q is halted %s; revert the change in Git, or go on in spite of it: %s",
		pool, halt, command.Resume(pool)))
}

// waitReason is the reason of the condition of a pool of which changes wait.
func waitReason(facts poolFacts) string {
	wait := firstWait(facts.counts)
	_, wave := firstWave(wait, facts.waves)
	switch {
	case wait.Obstacle != "":
		return v1.DrainObstructedReason
	case wait.Paused:
		return v1.RolloutPausedReason
	case !wait.Turn:
		return v1.WaitingForWindowReason
	case wave != nil && wave.Behind == 0 && wave.Unavailable.None() && !wave.Soaks.IsZero():
		return v1.SoakingReason
	case wave != nil && wave.Behind == 0 && wave.Unavailable.None() && wave.Approval != "":
		return v1.WaitingForApprovalReason
	default:
		return v1.WaitingForBudgetReason
	}
}

// describeWait says on how many nodes changes wait, for what, and what ends that.
func describeWait(facts poolFacts) string {
	waiting, wait := facts.counts.Waiting(), firstWait(facts.counts)
	verb := " wait: "
	if waiting == 1 {
		verb = " waits: "
	}
	text := nodes(int32(waiting)) + verb + wait.String()
	if pool, wave := firstWave(wait, facts.waves); wave != nil {
		text += "; " + wave.String()
		if wave.Behind == 0 && wave.Approval != "" {
			text += ": " + command.Approve(pool)
		}
	}
	if nodes, obstacle := obstructed(facts.counts); obstacle != nil && wait.Obstacle == "" {
		text += fmt.Sprintf("; of them %d: %s", nodes, obstacle)
	}
	for _, name := range wait.For {
		unavailable, some := facts.unavailable[name]
		if wave := facts.waves[name]; wait.Turn && some && (wave == nil || wave.Unavailable != unavailable) {
			text += "; " + unavailable.String()
			break
		}
	}
	return sanitize.Line(text)
}

// obstructed is on how many nodes changes wait as these cannot be drained, and why they cannot,
// of the first of them; nil where there are none.
func obstructed(counts fleet.Counts) (nodes int, first *plan.PoolWait) {
	var waits []plan.PoolWait
	for wait, on := range counts.Waits {
		if wait.Obstacle != "" {
			nodes, waits = nodes+on, append(waits, wait)
		}
	}
	return nodes, plan.FirstWait(waits)
}

// rolloutEvents reports when changes of a pool begin to wait, and when they wait for
// something else: another wave, its soak, its approval. Nodes that follow one after the
// other are no event.
//
// A rollout that is halted, or of which no node that is left can be drained, is a trouble, and
// reported as one.
func (r *Reconciler) rolloutEvents(before *v1.NodePool, after v1.NodePoolStatus, facts poolFacts) {
	if _, halt := halted(before.Name, facts); after.Rollout == nil || halt != nil {
		return
	}
	was, is := before.Status.Rollout, after.Rollout
	what, reason := "the RuntimeClass waits: ", v1.WaitingForWindowReason
	switch wait := facts.outcome.ClassWait; {
	case facts.counts.Waiting() > 0:
		what, reason = describeWait(facts), waitReason(facts)
	case wait != nil:
		what += sanitize.Line(wait.String())
	default:
		return
	}
	if reason == v1.DrainObstructedReason {
		return
	}
	if was == nil || was.Wave != is.Wave || waitsForElse(before.Status, after, reason) {
		r.event(before, corev1.EventTypeNormal, reason, "reconcile", "%s", what)
	}
}

// waitsForElse reports whether changes of a pool wait for a reason, and waited for another
// one before. While nodes are drained the condition says that; what others wait for is
// reported afterwards, and not that they follow by and by.
func waitsForElse(before, after v1.NodePoolStatus, reason string) bool {
	was := meta.FindStatusCondition(before.Conditions, v1.ReconcilingCondition)
	is := meta.FindStatusCondition(after.Conditions, v1.ReconcilingCondition)
	if was == nil || !rolloutReason[was.Reason] || was.Reason == reason || is != nil && is.Reason == v1.EvictingReason {
		return false
	}
	return was.Reason != v1.EvictingReason || reason != v1.WaitingForBudgetReason
}

var rolloutReason = map[string]bool{
	v1.WaitingForWindowReason: true, v1.WaitingForBudgetReason: true, v1.SoakingReason: true,
	v1.WaitingForApprovalReason: true, v1.RolloutPausedReason: true, v1.RolloutHaltedReason: true,
	v1.EvictingReason: true, v1.ProgressDeadlineExceededReason: true, v1.DrainObstructedReason: true,
}
