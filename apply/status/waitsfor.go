package status

import (
	"fmt"
	"time"

	"github.com/nodepools/nodepools/api/sanitize"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// waitsFor says in short what is waited for, so that it fits a line of a list. The message
// of the condition says it in full.
func waitsFor(pool *v1.NodePool, p Pool, turns *turns) string {
	switch p.Phase {
	case Halted:
		return "somebody: " + failure(pool, turns)
	case Approval:
		return "an approval" + after(pool, turns)
	case Paused:
		return pause(pool, turns)
	case Unknown:
		return "a controller: none has reported on it"
	case Progressing:
		if outdated(pool) {
			return "the controller: the status is of an earlier generation"
		}
		return p.Message
	case Waiting:
		return later(pool, p, turns)
	case Stalled, Deleting:
		return p.Message
	default:
		return ""
	}
}

func failure(pool *v1.NodePool, turns *turns) string {
	for _, name := range turns.waitedFor(pool.Name) {
		if halt := halted(turns.pools[name]); halt != nil {
			text := "node " + review.Word(halt.Node) + " failed"
			if halt.Nodes > 1 {
				text = fmt.Sprintf("%d nodes failed, node %s among them", halt.Nodes, review.Word(halt.Node))
			}
			if name != pool.Name {
				text += ", in the rollout of pool " + review.Word(name)
			}
			return text
		}
	}
	return "nodes have failed"
}

// after names the wave after which others begin, as far as it is known.
func after(pool *v1.NodePool, turns *turns) string {
	name, wave := turns.wave(pool.Name)
	switch {
	case wave != nil:
		return ", after wave " + review.Word(wave.Wave) + of(name, pool.Name)
	case pool.Status.Rollout != nil && pool.Status.Rollout.Wave != "":
		return ", after wave " + review.Word(pool.Status.Rollout.Wave)
	}
	return ""
}

func pause(pool *v1.NodePool, turns *turns) string {
	if v1.IsDisabled(pool, v1.ReconcileAnnotation) {
		return "annotation " + v1.ReconcileAnnotation
	}
	for _, name := range turns.waitedFor(pool.Name) {
		if other := turns.pools[name]; other != nil && other.Spec.Rollout != nil && other.Spec.Rollout.Paused {
			return "spec.rollout.paused" + of(name, pool.Name)
		}
	}
	return "a rollout that is paused"
}

// later is what ends by itself.
func later(pool *v1.NodePool, p Pool, turns *turns) string {
	name, wave := turns.wave(pool.Name)
	switch {
	case p.Reason == v1.WaitingForWindowReason && p.NextWindow != nil:
		return "a window, the next at " + p.NextWindow.InZone
	case p.Reason == v1.WaitingForWindowReason:
		return "a window; no opening was found"
	case p.Reason == v1.SoakingReason && wave != nil && !wave.Soaks.IsZero():
		return "the soak of wave " + review.Word(wave.Wave) + of(name, pool.Name) + ", until " + wave.Soaks.UTC().Format(time.RFC3339)
	case p.Reason == v1.SoakingReason:
		return "a soak" + after(pool, turns)
	case wave != nil:
		return "their turn in wave " + review.Word(wave.Wave) + of(name, pool.Name) + usedUp(pool, wave, turns)
	}
	return "their turn" + usedUp(pool, nil, turns)
}

// usedUp names who keeps nodes from taking their turn.
func usedUp(pool *v1.NodePool, wave *plan.WaveState, turns *turns) (text string) {
	if wave != nil && !wave.Unavailable.None() {
		text = "; " + sanitize.Line(wave.Unavailable.String())
	}
	for _, name := range turns.waitedFor(pool.Name) {
		if nodes, some := turns.unavailable[name]; some && (wave == nil || wave.Unavailable != nodes) {
			return text + "; " + sanitize.Line(nodes.String())
		}
	}
	return text
}
