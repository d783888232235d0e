package doctor

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/api/command"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// waiting are the reasons for which an object is not ready although nothing is wrong:
// somebody wants it so, or it is under way.
var waiting = []string{
	v1.PausedReason, v1.SuspendedReason, v1.ProgressingReason, v1.ReleasingReason, v1.DeletingReason, v1.WaitingForWindowReason,
	v1.WaitingForBudgetReason, v1.SoakingReason, v1.WaitingForApprovalReason, v1.RolloutPausedReason, v1.EvictingReason, v1.WaitingForSourceReason,
}

// poolActions say what to do about a reason of a pool.
var poolActions = map[string]string{
	v1.ConflictReason:                 "give one pool a higher priority, set conflictPolicy, or remove the other value; 'nodepools explain node NAME' shows who owns it",
	v1.ContestedReason:                "have the other controller leave the key alone, or take the key out of the pool; 'nodepools explain node NAME' shows who sets it",
	v1.InvalidReason:                  "correct the field that the message names",
	v1.ParentReason:                   "correct spec.parent",
	v1.SelectorReason:                 "correct spec.selector or spec.nodeNames",
	v1.RuntimeClassReason:             "delete or rename the RuntimeClass of that name",
	v1.NodesReason:                    "see what is wrong with the nodes that the message names",
	v1.ReleaseBlockedReason:           "undo the change, or approve it: the message has the command",
	v1.DrainObstructedReason:          "remove the NoSchedule taint that the message names, or give it the same value; or set onTimeout: Force",
	v1.EvictionTimedOutReason:         "let a PodDisruptionBudget that the message names allow an eviction, or delete the pod; or set onTimeout: Force",
	v1.ProgressDeadlineExceededReason: "see to the node that is not available, or to the budget: the message says what is waited for",
	v1.RolloutHaltedReason:            "revert the change in Git, or go on in spite of it: the message has the command",
}

// sourceActions say what to do about a reason of a source.
var sourceActions = map[string]string{
	v1.InvalidReason:        "correct the file that the message names; 'nodepools validate' finds it, too",
	v1.ClaimedReason:        "hand the pools over: the message has the command",
	v1.PruneBlockedReason:   "bring the pools back, correct the source that the message names, or approve the prune: the message has the command",
	v1.ReleaseBlockedReason: "undo the change, or approve it: the message has the command",
	v1.ApplyReason:          "see what the API server says in the message; it is tried again",
}

// notReady judges an object by its condition Ready.
func notReady(object string, generation, observed int64, conditions []metav1.Condition, actions map[string]string, kind string) []Finding {
	ready := meta.FindStatusCondition(conditions, v1.ReadyCondition)
	otherwise := command.Describe(object) + "; docs/troubleshooting.md has each reason"
	switch {
	case ready == nil:
		return []Finding{{Severity: Problem, Object: object, Message: "no controller has reported on it yet", Action: "see whether the controller runs; the lease says so"}}
	case observed >= 0 && observed < generation:
		return []Finding{{Severity: Note, Object: object, Message: fmt.Sprintf("the %s has changed, and the controller has not reported on that yet", kind)}}
	case ready.Status == metav1.ConditionTrue:
		return nil
	}
	f := Finding{Severity: Problem, Object: object, Message: ready.Reason + ": " + ready.Message, Action: actions[ready.Reason]}
	if slices.Contains(waiting, ready.Reason) {
		f.Severity = Note
	} else if f.Action == "" {
		f.Action = otherwise
	}
	return []Finding{f}
}

// more judges conditions that say something beside Ready.
func more(object string, conditions []metav1.Condition, types []string, severity Severity, action string) []Finding {
	var found []Finding
	ready := meta.FindStatusCondition(conditions, v1.ReadyCondition)
	for _, kind := range types {
		c := meta.FindStatusCondition(conditions, kind)
		// What Ready says as well is said once.
		if c == nil || c.Status != metav1.ConditionTrue || ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason == c.Reason {
			continue
		}
		found = append(found, Finding{Severity: severity, Object: object, Message: kind + ", " + c.Reason + ": " + c.Message, Action: action})
	}
	return found
}

func sources(s *State) []Finding {
	var found []Finding
	if len(s.Sources) == 0 {
		found = append(found, Finding{Severity: Note, Message: "there are none: pools come from no repository"})
	}
	for _, src := range s.Sources {
		object := command.Source(src.Name)
		found = append(found, notReady(object, src.Generation, src.Status.ObservedGeneration, src.Status.Conditions, sourceActions, "source")...)
		found = append(found, more(object, src.Status.Conditions, []string{v1.PruneBlockedCondition, v1.ReleaseBlockedCondition}, Problem, "undo the change, or approve it: the message has the command")...)
		found = append(found, unpolled(object, src)...)
		found = append(found, approvedAhead(object, src)...)
		if hook := meta.FindStatusCondition(src.Status.Conditions, v1.WebhookReadyCondition); hook != nil && hook.Status == metav1.ConditionFalse {
			found = append(found, Finding{Severity: Problem, Object: object, Message: "its webhook does not work, " + hook.Reason + ": " + hook.Message, Action: "it is polled at the interval; docs/troubleshooting.md has each reason"})
		}
	}
	return found
}

// sourcesFine says what is not known, too: a status is written when something changes,
// and nothing of it says when a repository was polled last.
func sourcesFine(s *State) string {
	return fmt.Sprintf("%d, all as they should be by their status; when each was polled last is in the metric nodepools_source_last_success_timestamp_seconds", len(s.Sources))
}

// unpolled is of a source whose controller was asked for a poll, and has not made it.
func unpolled(object string, src *v1.NodePoolSource) []Finding {
	asked := src.Annotations[v1.RequestedAtAnnotation]
	if asked == "" || asked == src.Status.LastHandledReconcileAt || src.Spec.Suspend || v1.IsDisabled(src, v1.ReconcileAnnotation) {
		return nil
	}
	return []Finding{{Severity: Note, Object: object, Message: "the poll that the annotation " + v1.RequestedAtAnnotation + " asks for has not ended yet",
		Action: "a poll takes seconds: where this stays so, the controller polls nothing; see its log"}}
}

// approvedAhead is of what has an approval of its deletion, and is not being deleted: of an
// uninstallation that was called off, for one.
func approvedAhead(name string, object metav1.Object) []Finding {
	if object.GetAnnotations()[v1.ApproveReleaseAnnotation] != v1.DeletionApproval || object.GetDeletionTimestamp() != nil {
		return nil
	}
	return []Finding{{Severity: Note, Object: name, Message: "its deletion is approved: nodes are released at once when it is deleted, with the definitions for one",
		Action: "unless that is meant, " + command.RemoveAnnotation(name, v1.ApproveReleaseAnnotation)}}
}

func pools(s *State) []Finding {
	var found []Finding
	if len(s.Pools) == 0 {
		found = append(found, Finding{Severity: Note, Message: "there are none: no node is given anything"})
	}
	for _, pool := range s.Pools {
		object := command.Pool(pool.Name)
		found = append(found, notReady(object, pool.Generation, pool.Status.ObservedGeneration, pool.Status.Conditions, poolActions, "pool")...)
		found = append(found, more(object, pool.Status.Conditions, []string{v1.ConflictedCondition}, Problem, poolActions[v1.ConflictReason])...)
		found = append(found, more(object, pool.Status.Conditions, []string{v1.ContestedCondition}, Problem, poolActions[v1.ContestedReason])...)
		found = append(found, more(object, pool.Status.Conditions, []string{v1.ReleaseBlockedCondition}, Problem, poolActions[v1.ReleaseBlockedReason])...)
		found = append(found, empty(object, pool)...)
		found = append(found, rollout(object, pool, s.Now)...)
		found = append(found, approvedAhead(object, pool)...)
	}
	return append(append(found, emptyWaves(s)...), handlers(s)...)
}

// empty is of a pool that is ready, and has no nodes.
func empty(object string, pool *v1.NodePool) []Finding {
	if !meta.IsStatusConditionTrue(pool.Status.Conditions, v1.ReadyCondition) || pool.Status.Nodes == nil || pool.Status.Nodes.Desired > 0 {
		return nil
	}
	return []Finding{{Severity: Note, Object: object, Message: "no node is in this pool",
		Action: "if that is not meant, correct spec.selector, spec.nodeNames or spec.parent, or label its nodes"}}
}

// nodes are judged by their records: each is to be read, and to be of pools that exist.
func nodes(s *State) []Finding {
	known := map[string]bool{}
	for _, pool := range s.Pools {
		known[pool.Name] = true
	}
	var found []Finding
	for _, node := range s.Nodes {
		object := "node/" + node.Name
		record, err := plan.ParseRecord(node.Annotations[v1.AppliedAnnotation])
		if err != nil {
			found = append(found, Finding{Severity: Problem, Object: object, Message: "its record cannot be read, so it is left as it is: " + err.Error(),
				Action: "repair the annotation " + v1.AppliedAnnotation + ", or run the later version that wrote it; docs/troubleshooting.md says what a record has"})
		}
		gone := record.Pools()
		for pool := range gone {
			if known[pool] {
				delete(gone, pool)
			}
		}
		// Where pools could not be read, none of them is known to be gone.
		if len(gone) > 0 && s.Unread[Pools] == nil {
			found = append(found, Finding{Severity: Problem, Object: object, Message: "carries what pools have put there that do not exist any more, and was never released: " + strings.Join(sorted(gone), ", "),
				Action: "create the pool again; or, to release the node, create it and delete it: the log of the controller has the command. Until then nothing is released on doubt"})
		}
		if v1.IsDisabled(node, v1.ReconcileAnnotation) {
			found = append(found, Finding{Severity: Note, Object: object, Message: "is paused: nothing is written to it", Action: command.RemoveAnnotation(object, v1.ReconcileAnnotation) + " resumes it"})
		}
	}
	return found
}

func nodesFine(s *State) string {
	recorded := 0
	for _, node := range s.Nodes {
		if node.Annotations[v1.AppliedAnnotation] != "" {
			recorded++
		}
	}
	return fmt.Sprintf("%d, of which pools have put something on %d", len(s.Nodes), recorded)
}
