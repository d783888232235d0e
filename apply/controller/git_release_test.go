package controller

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// A revision with a typo in a selector is held back whole, also by a process that is
// started anew. It says how to approve it, and that works, for that revision and
// once; pools that the source writes then wait for no other approval.
func TestGitReleaseWaitsForAnApproval(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	a := w.zoneNodes("a", 12)
	w.zoneNodes("b", 2)
	first := repo.commit(files{"pools/p.yaml": wallPool("p", "a"), "pools/q.yaml": wallPool("q", "b")})
	w.source("brake", repo.url(), rarely)
	w.follows("brake", first)
	w.isReady("p", 12)
	w.isReady("q", 2)
	mark := w.mark()
	blocked := func(texts ...string) {
		w.t.Helper()
		w.stands("brake", v1.ReleaseBlockedCondition, metav1.ConditionTrue, v1.ReleaseBlockedReason, texts...)
	}

	mistyped := files{
		"pools/p.yaml": wallPool("p", "A"),
		"pools/q.yaml": strings.Replace(wallPool("q", "b"), `value: "1"`, `value: "2"`, 1),
	}
	second := repo.commit(mistyped)
	w.request("brake", "second")
	blocked(`12 of 12 nodes would leave pool "p" (a-00, a-01, a-02 and 9 more)`, "the limit is 50%")
	if message := w.readyMessage("brake"); !strings.HasSuffix(message, "revision "+second+" is not taken; "+first+" stays") {
		t.Errorf("the source says %q", message)
	}
	w.sourceIs("brake", "is valid, and stays where it was", func(src *v1.NodePoolSource) error {
		if src.Status.Revision != first || src.Status.LastAttemptedRevision != second {
			return fmt.Errorf("revision is %s, attempted was %s", src.Status.Revision, src.Status.LastAttemptedRevision)
		}
		return conditionIs(src.Status.Conditions, v1.ValidCondition, metav1.ConditionTrue, v1.SucceededReason)
	})
	w.wroteOnly(mark, "patch nodepoolsources/status brake")
	w.stop()
	w.start()
	w.request("brake", "again")
	blocked("12 of 12 nodes")
	w.kubectl("annotate", "--overwrite", "nodepoolsources.nodes.lailin.xyz", "brake", v1.ApproveReleaseAnnotation+"="+first)
	blocked("the approval that the source has is of")
	w.wroteOnly(mark, "patch nodepoolsources/status brake")

	// What 'nodepools approve source/brake' sets.
	if message := w.readyMessage("brake"); !strings.Contains(message, "nodepools approve source/brake;") {
		t.Errorf("the source says %q", message)
	}
	act := plan.ApproveSource(w.mustRead("brake"))
	w.kubectl("annotate", "--overwrite", "nodepoolsources.nodes.lailin.xyz", "brake", v1.ApproveReleaseAnnotation+"="+act.Set[v1.ApproveReleaseAnnotation])
	w.follows("brake", second)
	w.carriesPool("p", false, a...)
	w.isReady("p", 0)
	w.toldOf(w.mustRead("brake"), v1.ReleaseApprovedReason, second)
	w.sourceIs("brake", "has used the approval up", func(src *v1.NodePoolSource) error {
		if src.Status.LastHandledReleaseApproval != second {
			return fmt.Errorf("used up is %q", src.Status.LastHandledReleaseApproval)
		}
		return conditionIs(src.Status.Conditions, v1.ReleaseBlockedCondition, metav1.ConditionFalse, v1.SucceededReason)
	})

	// Back and forth again: another revision waits again.
	third := repo.commit(files{"pools/p.yaml": wallPool("p", "a")})
	w.request("brake", "third")
	w.follows("brake", third)
	w.isReady("p", 12)
	repo.commit(mistyped)
	w.request("brake", "fourth")
	blocked("12 of 12 nodes", "the approval that the source has is of")
	// A higher limit does not let a pool lose its last member. It lets all others go.
	w.kubectl("patch", "nodepoolsources.nodes.lailin.xyz", "brake", "--type=merge", "-p", `{"spec":{"releaseLimit":"100%"}}`)
	w.request("brake", "fifth")
	blocked("12 of 12 nodes")
	w.carriesPool("p", true, a...)
	w.node("other", map[string]string{"example.com/zone": "A"})
	repo.commit(files{"README.md": "the zone A has a node"})
	w.request("brake", "sixth")
	w.carriesPool("p", false, a...)
}

// What somebody changes by hand in a pool of a source is put back at once, also where
// that takes most nodes out of it again.
func TestGitPutsBackWhatLetNodesIn(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	a, b := w.zoneNodes("a", 2), w.zoneNodes("b", 20)
	first := repo.commit(files{"pools/p.yaml": wallPool("p", "a")})
	w.source("back", repo.url(), rarely)
	w.follows("back", first)
	w.isReady("p", 2)
	// The source cannot write for a moment, so that nodes follow what is there by hand.
	w.changeSource("back", func(src *v1.NodePoolSource) { src.Spec.Suspend = true })
	w.stands("back", v1.StalledCondition, metav1.ConditionFalse, v1.SuspendedReason)
	w.kubectl("patch", "nodepools.nodes.lailin.xyz", "p", "--type=merge", "-p", `{"spec":{"selector":{"matchLabels":null,"matchExpressions":[{"key":"example.com/zone","operator":"Exists"}]}}}`)
	w.carriesPool("p", true, b...)
	w.isReady("p", 22)
	w.changeSource("back", func(src *v1.NodePoolSource) { src.Spec.Suspend = false })
	w.carriesPool("p", false, b...)
	w.carriesPool("p", true, a...)
	w.isReady("p", 2)
}
