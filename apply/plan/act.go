package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Act is what a person does to one pool or source. It counts for what waits now, and for
// nothing that comes later: approvals name a generation, a revision or changes.
type Act struct {
	// Waits says what waits for it, and Allows what it lets through, in sentences.
	Waits, Allows []string
	// Set and Remove are the annotations that say it.
	Set    map[string]string
	Remove []string
	// Unpause sets spec.rollout.paused to false.
	Unpause bool
}

// Empty reports whether nothing waits for the act.
func (a *Act) Empty() bool { return len(a.Set) == 0 && len(a.Remove) == 0 && !a.Unpause }

func (a *Act) set(annotation, value, waits, allows string) {
	if a.Set == nil {
		a.Set = map[string]string{}
	}
	a.Set[annotation] = value
	a.Waits, a.Allows = append(a.Waits, waits), append(a.Allows, allows)
}

// ApprovePool approves that the waves after one begin, which is nil where none is waited for,
// and that what is held is carried out, nil for nothing. Next is how many nodes wait in the
// waves that come then.
func ApprovePool(wave *WaveState, next string, held *ReleaseBlock) *Act {
	act := &Act{}
	if wave != nil && wave.Behind == 0 && wave.Approval != "" {
		act.set(v1.ApproveRolloutAnnotation, wave.Approval, wave.String(), next)
	}
	if held != nil && held.Approval != "" {
		waits := held.Reason()
		act.set(v1.ApproveReleaseAnnotation, held.Approval, waits, "all of that, at once where no rollout is in the way")
	}
	return act
}

// ApproveSource approves what a source keeps from being deleted, and what it holds back, as its
// status has it.
func ApproveSource(source *v1.NodePoolSource) *Act {
	act := &Act{}
	if !source.DeletionTimestamp.IsZero() && source.Spec.DeletionPolicy == v1.DeletePools {
		act.set(v1.ApproveReleaseAnnotation, v1.DeletionApproval, "the source is being deleted with its pools",
			fmt.Sprintf("the deletion of its %d pools, whose nodes are released", source.Status.Pools))
		return act
	}
	if blocked := meta.FindStatusCondition(source.Status.Conditions, v1.PruneBlockedCondition); blocked != nil && blocked.Status == metav1.ConditionTrue {
		revision := source.Status.Revision
		if meta.IsStatusConditionTrue(source.Status.Conditions, v1.ValidCondition) {
			revision = source.Status.LastAttemptedRevision // it may wait for a window
		}
		waits, _, _ := strings.Cut(blocked.Message, "; "+pruneRemedy)
		act.set(v1.ApprovePruneAnnotation, revision, waits, fmt.Sprintf("the deletion of these pools, for revision %s alone", revision))
	}
	if blocked := meta.FindStatusCondition(source.Status.Conditions, v1.ReleaseBlockedCondition); blocked != nil && blocked.Status == metav1.ConditionTrue {
		if revision := ReleasePolicyOf(source).Blocked; revision != "" {
			waits, _, _ := strings.Cut(blocked.Message, "; "+releaseRemedy)
			act.set(v1.ApproveReleaseAnnotation, revision, waits, fmt.Sprintf("revision %s, and no other one", revision))
		}
	}
	return act
}

// Resume lets a pool go on that is paused, or whose rollout is paused or halted. The error names
// the file in Git from which a pause would come back.
func Resume(pool *v1.NodePool) (*Act, error) {
	act := &Act{}
	if v1.IsDisabled(pool, v1.ReconcileAnnotation) {
		if setInGit(pool, "metadata", "annotations", v1.ReconcileAnnotation) {
			return nil, fmt.Errorf("the annotation %s of pool %q is set in %s in Git, and would come back from there: take it out of that file", v1.ReconcileAnnotation, pool.Name, quote(pool.Annotations[v1.FileAnnotation]))
		}
		act.Remove = append(act.Remove, v1.ReconcileAnnotation)
		act.Waits = append(act.Waits, "the pool is paused: its RuntimeClass, and what it has put on nodes, stay as they are")
		act.Allows = append(act.Allows, "what its spec says by now, on all of its nodes")
	}
	if pool.Spec.Rollout != nil && pool.Spec.Rollout.Paused {
		if pool.Annotations[v1.SourceUIDAnnotation] != "" {
			return nil, fmt.Errorf("spec.rollout.paused of pool %q is set in %s in Git, and would come back from there: set it to false in that file", pool.Name, quote(pool.Annotations[v1.FileAnnotation]))
		}
		act.Unpause = true
		act.Waits, act.Allows = append(act.Waits, "its rollout is paused: "+waitingNodes(pool)), append(act.Allows, "these nodes, by the rest of the rollout")
	}
	if halt := HaltOf(pool); halt.Holds() {
		act.set(v1.ResumeRolloutAnnotation, halt.Resume(), "its rollout is halted "+halt.String()+": "+waitingNodes(pool), "these nodes, in spite of that failure")
	}
	return act, nil
}

// Pause has a pool rest. The act is empty where it rests already.
func Pause(pool *v1.NodePool) *Act {
	act := &Act{}
	if !v1.IsDisabled(pool, v1.ReconcileAnnotation) {
		act.set(v1.ReconcileAnnotation, v1.Disabled, "the pool is not paused, and "+waitingNodes(pool),
			"nothing: its RuntimeClass, and what it has put on nodes, stay as they are; its spec still follows Git; 'nodepools resume' ends it")
	}
	return act
}

// Expedite lets the changes of pools that wait in the rollout of one, sorted by name, pass its
// windows and waves.
func Expedite(pool *v1.NodePool, waiting []*v1.NodePool) *Act {
	act := &Act{}
	var changes, names []string
	nodes := int32(0)
	for _, one := range waiting {
		changes, names = append(changes, ChangeID(one)), append(names, one.Name)
		if one.Status.Rollout != nil {
			nodes += one.Status.Rollout.Waiting
		}
	}
	if value := strings.Join(changes, "."); value != "" && value != pool.Annotations[v1.ExpediteRolloutAnnotation] {
		act.set(v1.ExpediteRolloutAnnotation, value,
			fmt.Sprintf("changes of %s wait on %s", strings.Join(names, ", "), countNodes(nodes)),
			"these changes outside windows and waves, without soak and approval; the budget, a pause and a halt hold")
	}
	return act
}

// setInGit reports whether a source has applied a field of a pool.
func setInGit(pool *v1.NodePool, path ...string) bool {
	parts := make([]any, len(path))
	for i, part := range path {
		parts[i] = part
	}
	return pool.Annotations[v1.SourceUIDAnnotation] != "" && applied(pool).Has(fieldpath.MakePathOrDie(parts...))
}

func waitingNodes(pool *v1.NodePool) string {
	if pool.Status.Rollout == nil {
		return "no node waits"
	}
	if pool.Status.Rollout.Waiting == 1 {
		return "1 node waits"
	}
	return fmt.Sprintf("%d nodes wait", pool.Status.Rollout.Waiting)
}

func countNodes(nodes int32) string {
	if nodes == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", nodes)
}

// Writes says what the act writes: annotations, and fields.
func (a *Act) Writes() []string {
	var lines []string
	for key, value := range a.Set {
		lines = append(lines, key+"="+value)
	}
	for _, key := range a.Remove {
		lines = append(lines, key+"-")
	}
	slices.Sort(lines)
	if a.Unpause {
		lines = append(lines, "spec.rollout.paused: false")
	}
	return lines
}

// AskForPoll asks for a poll of a source. The error is of one that is not polled at all.
func AskForPoll(source *v1.NodePoolSource, now time.Time) (*Act, error) {
	if source.Spec.Suspend || v1.IsDisabled(source, v1.ReconcileAnnotation) {
		return nil, fmt.Errorf("source %q is suspended or paused, and is not polled: see spec.suspend and the annotation %s", source.Name, v1.ReconcileAnnotation)
	}
	return &Act{Set: map[string]string{v1.RequestedAtAnnotation: now.UTC().Format(time.RFC3339Nano)}}, nil
}
