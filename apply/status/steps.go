package status

import (
	"github.com/nodepools/nodepools/api/command"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// Step is something that a person can do so that nodes go on, or go back.
type Step struct {
	// Purpose is what it is for, as in "approve the next wave". Command does it; empty where
	// it is no command.
	Purpose string `json:"purpose"`
	Command string `json:"command,omitempty"`
}

// stepsOf are what a person can do about a pool, and about those that its nodes wait for.
func stepsOf(pool *v1.NodePool, phase Phase, turns *turns) []Step {
	switch phase {
	case Approval:
		return approvals(pool, turns)
	case Halted:
		return afterHalt(pool, turns)
	case Paused:
		return unpaused(pool, turns)
	default:
		return nil
	}
}

// of names a pool where it is not the one that is spoken of.
func of(name, about string) string {
	if name == about {
		return ""
	}
	return " of pool " + review.Word(name)
}

func approvals(pool *v1.NodePool, turns *turns) []Step {
	name, wave := turns.wave(pool.Name)
	if wave == nil || wave.Behind > 0 || wave.Approval == "" {
		return nil
	}
	return []Step{{"approve the next wave" + of(name, pool.Name), command.Approve(name)}}
}

// afterHalt are to take the change back, and to go on in spite of what has failed.
func afterHalt(pool *v1.NodePool, turns *turns) []Step {
	var steps []Step
	for _, name := range turns.waitedFor(pool.Name) {
		other := turns.pools[name]
		halt := halted(other)
		if halt == nil {
			continue
		}
		steps = append(steps, revert(other, pool.Name),
			Step{"go on in spite of it" + of(name, pool.Name), command.Resume(name)})
	}
	return steps
}

// revert takes a change back where it comes from: a rollout of what nodes had before.
func revert(pool *v1.NodePool, about string) Step {
	file := pool.Annotations[v1.FileAnnotation]
	if file == "" {
		return Step{"take the change back" + of(pool.Name, about), command.EditPool(pool.Name)}
	}
	return Step{"take the change back" + of(pool.Name, about) + ", by the COMMIT that has made it in " + review.Word(file), "git revert COMMIT"}
}

// unpaused resume a pool, or a rollout, that is paused.
func unpaused(pool *v1.NodePool, turns *turns) []Step {
	if v1.IsDisabled(pool, v1.ReconcileAnnotation) {
		return []Step{{"resume the pool", command.Resume(pool.Name)}}
	}
	for _, name := range turns.waitedFor(pool.Name) {
		other := turns.pools[name]
		if other == nil || other.Spec.Rollout == nil || !other.Spec.Rollout.Paused {
			continue
		}
		purpose := "resume the rollout" + of(name, pool.Name)
		if file := other.Annotations[v1.FileAnnotation]; file != "" {
			return []Step{{Purpose: purpose + ", set spec.rollout.paused to false in " + review.Word(file) + " in Git"}}
		}
		return []Step{{purpose, command.Resume(name)}}
	}
	return nil
}
