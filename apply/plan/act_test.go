package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// What each act writes, for what waits now and nothing else.
func TestActs(t *testing.T) {
	pool := func(change func(pool *v1.NodePool)) *v1.NodePool {
		p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "gpu", UID: "u", Generation: 3}, Spec: v1.NodePoolSpec{Rollout: &v1.Rollout{}}}
		if change != nil {
			change(p)
		}
		return p
	}
	source := func(change func(source *v1.NodePoolSource)) *v1.NodePoolSource {
		s := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "platform"}, Status: v1.NodePoolSourceStatus{Revision: "main@sha1:old", LastAttemptedRevision: "main@sha1:new"}}
		change(s)
		return s
	}
	is := func(kind, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Message: message}
	}
	paused := func(p *v1.NodePool) { p.Annotations = map[string]string{v1.ReconcileAnnotation: "Disabled"} }
	halt := v1.RolloutHalt{Time: metav1.NewTime(time.Date(2026, 11, 25, 2, 0, 7, 0, time.UTC)), Changes: "b41c02", Node: "n1", Nodes: 1}
	halted := func(p *v1.NodePool) { p.Status.Rollout = &v1.RolloutStatus{Waiting: 4, Halt: &halt} }
	resume := func(p *v1.NodePool) *Act {
		act, err := Resume(p)
		if err != nil {
			t.Fatal(err)
		}
		return act
	}
	canary := &WaveState{Wave: "canary", Waves: 3, Nodes: 1, Approval: "3f9a1c/canary"}
	behind := *canary
	behind.Behind = 1
	change := ChangeID(pool(nil))
	for name, test := range map[string]struct {
		act    *Act
		writes string
		says   string // part of what waits and what is allowed
	}{
		"nothing":                  {ApprovePool(nil, "", nil), "", ""},
		"a wave":                   {ApprovePool(canary, "wave half: 4 nodes wait in it", nil), "nodes.lailin.xyz/approveRollout=3f9a1c/canary", "the next wave waits for an approval; wave half: 4 nodes wait in it"},
		"a wave that is under way": {ApprovePool(&behind, "", nil), "", ""},
		"a change that is held":    {ApprovePool(nil, "", &ReleaseBlock{Pool: "gpu", Approval: "7"}), "nodes.lailin.xyz/approveRelease=7", `pool "gpu" is held`},
		"a pool that is gone":      {ApprovePool(nil, "", &ReleaseBlock{Pool: "gpu"}), "", ""},
		"a prune": {ApproveSource(source(func(s *v1.NodePoolSource) {
			s.Status.Conditions = []metav1.Condition{is(v1.PruneBlockedCondition, "kept 2 of 3 pools; if it is meant, x")}
		})), "nodes.lailin.xyz/approvePrune=main@sha1:old", "kept 2 of 3 pools; the deletion of these pools, for revision main@sha1:old alone"},
		"a prune that waits": {ApproveSource(source(func(s *v1.NodePoolSource) {
			s.Status.Conditions = []metav1.Condition{is(v1.PruneBlockedCondition, ""), is(v1.ValidCondition, "")}
		})), "nodes.lailin.xyz/approvePrune=main@sha1:new", ""},
		"a revision that is held": {ApproveSource(source(func(s *v1.NodePoolSource) {
			s.Status.BlockedRelease = BlockedReleaseOf(s, "main@sha1:held")
			s.Status.Conditions = []metav1.Condition{is(v1.ReleaseBlockedCondition, "the revision is held back; correct the revision; or x")}
		})), "nodes.lailin.xyz/approveRelease=main@sha1:held", "the revision is held back; revision main@sha1:held, and no other one"},
		"a source that is deleted":    {ApproveSource(source(func(s *v1.NodePoolSource) { s.DeletionTimestamp, s.Spec.DeletionPolicy = &halt.Time, v1.DeletePools })), "nodes.lailin.xyz/approveRelease=deletion", "the deletion of its 0 pools"},
		"a source of which all is in": {ApproveSource(source(func(*v1.NodePoolSource) {})), "", ""},
		"a pause ends":                {resume(pool(paused)), "nodes.lailin.xyz/reconcile-", "the pool is paused"},
		"a halt ends":                 {resume(pool(halted)), "nodes.lailin.xyz/resumeRollout=" + HaltOf(pool(halted)).Resume(), "4 nodes wait"},
		"a paused rollout goes on":    {resume(pool(func(p *v1.NodePool) { p.Spec.Rollout.Paused = true })), "spec.rollout.paused: false", "its rollout is paused: no node waits"},
		"all three":                   {resume(pool(func(p *v1.NodePool) { paused(p); halted(p); p.Spec.Rollout.Paused = true })), "nodes.lailin.xyz/reconcile- nodes.lailin.xyz/resumeRollout=" + HaltOf(pool(halted)).Resume() + " spec.rollout.paused: false", ""},
		"nothing rests":               {resume(pool(nil)), "", ""},
		"a pause":                     {Pause(pool(nil)), "nodes.lailin.xyz/reconcile=disabled", "'nodepools resume' ends it"},
		"a pause that is there":       {Pause(pool(paused)), "", ""},
		"changes pass":                {Expedite(pool(nil), []*v1.NodePool{pool(nil)}), "nodes.lailin.xyz/expediteRollout=" + change, "changes of gpu wait on 0 nodes"},
		"they pass already":           {Expedite(pool(func(p *v1.NodePool) { p.Annotations = map[string]string{v1.ExpediteRolloutAnnotation: change} }), []*v1.NodePool{pool(nil)}), "", ""},
		"no change waits":             {Expedite(pool(nil), nil), "", ""},
	} {
		if got := strings.Join(test.act.Writes(), " "); got != test.writes || test.act.Empty() != (got == "") {
			t.Errorf("%s: writes %q, want %q", name, got, test.writes)
		}
		if says := strings.Join(slices.Concat(test.act.Waits, test.act.Allows), "; "); !strings.Contains(says, test.says) {
			t.Errorf("%s: says %q, and lacks %q", name, says, test.says)
		}
	}
}

// What stands in Git comes again when it is taken back in the cluster.
func TestWhatGitSaysIsNotResumed(t *testing.T) {
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "gpu", Annotations: map[string]string{v1.SourceUIDAnnotation: "u", v1.FileAnnotation: "pools/gpu.yaml"}},
		Spec: v1.NodePoolSpec{Rollout: &v1.Rollout{Paused: true}}}
	if _, err := Resume(p); err == nil || !strings.Contains(err.Error(), `spec.rollout.paused of pool "gpu" is set in "pools/gpu.yaml" in Git`) {
		t.Errorf("the error is %v", err)
	}
	p.Spec.Rollout, p.Annotations[v1.ReconcileAnnotation] = nil, v1.Disabled
	if act, err := Resume(p); err != nil || act.Empty() {
		t.Errorf("a pause that somebody has set by hand: %v", err)
	}
	p.ManagedFields = []metav1.ManagedFieldsEntry{managed(v1.FieldManager, metav1.ManagedFieldsOperationApply, "", `{"f:metadata":{"f:annotations":{"f:nodes.lailin.xyz/reconcile":{}}}}`)}
	if _, err := Resume(p); err == nil || !strings.Contains(err.Error(), "is set in") {
		t.Errorf("the error is %v", err)
	}
}

func TestSourcesThatAreNotPolled(t *testing.T) {
	now := time.Date(2026, 11, 25, 2, 0, 7, 5, time.UTC)
	act, err := AskForPoll(&v1.NodePoolSource{}, now)
	if err != nil || act.Set[v1.RequestedAtAnnotation] != "2026-11-25T02:00:07.000000005Z" {
		t.Errorf("%v, %v", act, err)
	}
	if _, err := AskForPoll(&v1.NodePoolSource{Spec: v1.NodePoolSourceSpec{Suspend: true}}, now); err == nil {
		t.Error("a suspended source is polled")
	}
}
