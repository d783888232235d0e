package controller

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// heldRelease is a world in which a revision is held, as it would evict from 12 of 20 nodes. It
// returns the revision that stands, and the one that is held. With the 8 nodes of zone c, which
// pool r reports, the second one is within the limit.
func heldRelease(t *testing.T) (w *gitWorld, repo *repository, first, second string) {
	t.Helper()
	w, repo = newGitWorld(t), newRepository(t)
	w.zoneNodes("a", 12)
	w.zoneNodes("b", 8)
	first = repo.commit(files{"pools/p.yaml": wallPool("p", "a"), "pools/q.yaml": wallPool("q", "b"), "pools/r.yaml": wallPool("r", "c")})
	w.source("brake", repo.url(), rarely)
	w.follows("brake", first)
	w.isReady("p", 12)
	w.isReady("q", 8)
	second = repo.commit(files{"pools/p.yaml": wallPool("p", "a") + "  - {key: example.com/out, effect: NoExecute}\n"})
	w.request("brake", "second")
	w.stands("brake", v1.ReleaseBlockedCondition, metav1.ConditionTrue, v1.ReleaseBlockedReason, "on 12 of all 20 nodes", second)
	return w, repo, first, second
}

// A revision is held, and its source is suspended while somebody thinks about it. When it is
// resumed there are more nodes, of which the revision would concern less than half, and the
// controller is another process. It is still held, whatever else of the spec changes, until the
// limit does.
func TestGitReleaseStaysBlockedOverASuspension(t *testing.T) {
	w, _, first, second := heldRelease(t)
	w.changeSource("brake", func(src *v1.NodePoolSource) { src.Spec.Suspend = true })
	w.stands("brake", v1.StalledCondition, metav1.ConditionFalse, v1.SuspendedReason)
	w.stop()
	w.zoneNodes("c", 8)
	w.start()
	w.isReady("r", 8)
	mark := w.mark()
	for _, edit := range []func(*v1.NodePoolSource){
		func(src *v1.NodePoolSource) { src.Spec.Suspend = false },
		func(src *v1.NodePoolSource) { src.Spec.Interval.Duration *= 2 },
	} {
		w.changeSource("brake", edit)
		w.stands("brake", v1.ReleaseBlockedCondition, metav1.ConditionTrue, v1.ReleaseBlockedReason, "on 12 of all 28 nodes", second)
		if src := w.mustRead("brake"); src.Status.Revision != first {
			t.Errorf("revision %s was taken without an approval", src.Status.Revision)
		}
	}
	w.wroteOnly(mark, "patch nodepoolsources/status brake")

	w.kubectl("patch", "nodepoolsources.nodes.lailin.xyz", "brake", "--type=merge", "-p", `{"spec":{"releaseLimit":"45%"}}`)
	w.follows("brake", second)
}

// A revision is held, and a newer one cannot be read. The held one is still what would be carried
// out, so it stays held while the number of nodes changes, until it is approved.
func TestGitReleaseStaysBlockedBehindABrokenRevision(t *testing.T) {
	w, repo, first, second := heldRelease(t)
	third := repo.commit(files{"pools/q.yaml": "kind: ["})
	held := func() {
		t.Helper()
		w.sourceIs("brake", "holds the second revision, and reports the third", func(src *v1.NodePoolSource) error {
			if src.Status.Revision != first || src.Status.LastAttemptedRevision != third {
				return fmt.Errorf("revision is %s, attempted was %s", src.Status.Revision, src.Status.LastAttemptedRevision)
			}
			if err := conditionIs(src.Status.Conditions, v1.ValidCondition, metav1.ConditionFalse, v1.InvalidReason); err != nil {
				return err
			}
			return conditionIs(src.Status.Conditions, v1.ReleaseBlockedCondition, metav1.ConditionTrue, v1.ReleaseBlockedReason, second)
		})
	}
	w.request("brake", "third")
	held()
	w.zoneNodes("c", 8)
	w.isReady("r", 8)
	mark := w.mark()
	w.request("brake", "again")
	held()
	w.wroteOnly(mark, "patch nodepoolsources/status brake")

	w.kubectl("annotate", "--overwrite", "nodepoolsources.nodes.lailin.xyz", "brake", v1.ApproveReleaseAnnotation+"="+second)
	w.sourceIs("brake", "has carried out what was approved", func(src *v1.NodePoolSource) error {
		if src.Status.Revision != second || src.Status.LastHandledReleaseApproval != second {
			return fmt.Errorf("revision is %s, used up is %q", src.Status.Revision, src.Status.LastHandledReleaseApproval)
		}
		return conditionIs(src.Status.Conditions, v1.ReleaseBlockedCondition, metav1.ConditionFalse, v1.SucceededReason)
	})
}
