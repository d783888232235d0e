package doctor

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/nodepools/nodepools/api/command"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// rollout judges the windows of a pool. That changes wait for one is as somebody wants it;
// that none of them ever comes is wrong, also while nothing waits yet.
func rollout(object string, pool *v1.NodePool, now time.Time) []Finding {
	const files = "; 'nodepools windows PATH' prints when the pools in a folder may change"
	var found []Finding
	if calendar := pool.Calendar(); calendar != nil {
		for _, problem := range calendar.Problems() {
			found = append(found, Finding{Severity: Problem, Object: object, Message: "spec.rollout cannot be read: " + problem.Error(),
				Action: "correct it: a timeZone is a name of the IANA database, as Europe/Berlin" + files})
		}
		if _, opens := calendar.Next(now); !opens && len(found) == 0 {
			found = append(found, Finding{Severity: Problem, Object: object, Message: "no opening of spec.rollout was found: nodes never follow a change of the pool",
				Action: "correct its windows, or end its exclusions" + files})
		}
	}
	status := pool.Status.Rollout
	switch ready := meta.FindStatusCondition(pool.Status.Conditions, v1.ReadyCondition); {
	case status == nil || ready != nil && takesTurns[ready.Reason] || status.Wave != "" && status.NextWindow == nil:
	case status.NextWindow == nil:
		if len(found) == 0 {
			found = append(found, Finding{Severity: Problem, Object: object, Message: waitingOn(status) + ", and no time was found at which all rollouts are open that they wait for",
				Action: "correct spec.rollout of the pools that the message of the condition Reconciling names: " + command.Describe(object)})
		}
	case ready == nil || ready.Reason != v1.WaitingForWindowReason:
		// Ready says something else, which is more urgent.
		found = append(found, Finding{Severity: Note, Object: object, Message: waitingOn(status) + "; the next opening is " + status.NextWindow.UTC().Format(time.RFC3339)})
	}
	return found
}

// takesTurns are the reasons for which nodes wait for no time that is known.
var takesTurns = map[string]bool{
	v1.WaitingForBudgetReason: true, v1.SoakingReason: true, v1.WaitingForApprovalReason: true, v1.RolloutPausedReason: true,
	v1.RolloutHaltedReason: true, v1.EvictingReason: true, v1.EvictionTimedOutReason: true, v1.DrainObstructedReason: true,
	v1.ProgressDeadlineExceededReason: true,
}

// emptyWaves are the waves that no node is in: whoever relies on a canary has none.
func emptyWaves(s *State) []Finding {
	var found []Finding
	for _, wave := range plan.EmptyWaves(s.Pools, plan.NumbersOf(s.Sources), s.Nodes, s.Now) {
		found = append(found, Finding{Severity: Note, Object: command.Pool(wave.Pool), Message: wave.String() + "; those after it begin without it",
			Action: "if it is to have some, correct its selector, or that of the waves before it"})
	}
	return found
}

func waitingOn(status *v1.RolloutStatus) string {
	switch status.Waiting {
	case 0:
		return "the RuntimeClass waits for a window"
	case 1:
		return "changes of it wait for a window on 1 node"
	default:
		return fmt.Sprintf("changes of it wait for a window on %d nodes", status.Waiting)
	}
}
