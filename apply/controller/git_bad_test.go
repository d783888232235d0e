package controller

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A revision with anything wrong in it changes nothing in the cluster, and the
// status says which file, which line and why, also after a restart. The next good one goes
// through.
func TestGitBadRevisionChangesNothing(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	w.node("a1", role("a"))
	w.node("b1", role("b"))
	good := repo.commit(files{"pools/a.yaml": poolFile("a", "0"), "pools/b.yaml": poolFile("b", "0")})
	w.source("bad", repo.url(), rarely)
	w.follows("bad", good)
	w.poolsReady("a", "b")
	tier := "0"

	// Each case changes pool a as well, to something good that must not be taken.
	change := poolFile("a", "bad")
	for i, tc := range []struct {
		name   string
		reason string
		files  files
		says   []string
	}{
		{
			name:   "duplicate pool",
			reason: "one of the two is mistyped, and nobody knows which",
			files:  files{"pools/copy.yaml": poolFile("b", "copy")},
			says:   []string{"b.yaml:", "copy.yaml:"},
		},
		{
			name:   "missing parent",
			reason: "its nodes are not known",
			files:  files{"pools/c.yaml": poolFile("c", "x", "  parent: nobody")},
			says:   []string{"c.yaml:8: ", `"nobody"`},
		},
		{
			name:   "a good pool that is gone beside a bad one",
			reason: "the revision is not taken in part, so nothing is pruned either",
			files:  files{"pools/b.yaml": "", "pools/c.yaml": poolFile("c", "not a value")},
			says:   []string{"c.yaml:7: "},
		},
	} {
		went := t.Run(tc.name, func(t *testing.T) {
			w, repo := w.in(t), &repository{t: t, dir: repo.dir}
			mark := w.mark()
			tc.files["pools/a.yaml"] = change
			bad := repo.commit(tc.files)
			w.request("bad", bad)
			says := append([]string{"revision " + bad + " is not taken; " + good + " stays"}, tc.says...)
			w.sourceIs("bad", "refuses "+tc.name, func(src *v1.NodePoolSource) error {
				if src.Status.Revision != good || src.Status.LastAttemptedRevision != bad {
					return fmt.Errorf("revision is %q, attempted was %q", src.Status.Revision, src.Status.LastAttemptedRevision)
				}
				return nil
			})
			w.stands("bad", v1.ValidCondition, metav1.ConditionFalse, v1.InvalidReason, says...)
			w.stands("bad", v1.ReadyCondition, metav1.ConditionFalse, v1.InvalidReason)
			w.wroteOnly(mark, "patch nodepoolsources/status bad")
			w.carries("a1", tiers("a", tier))
			w.poolsAre("a", "b")

			// Back to what was good, with one change that must go through.
			repo.git("rm", "-rq", "pools")
			tier = fmt.Sprint(i + 1)
			good = repo.commit(files{"pools/a.yaml": poolFile("a", tier), "pools/b.yaml": poolFile("b", "0")})
			w.request("bad", good)
			w.follows("bad", good)
			w.carries("a1", tiers("a", tier))
			w.poolsReady("a", "b")
		})
		if !went {
			t.Fatalf("the case is there because %s; what comes after it would only fail as well", tc.reason)
		}
	}

	bad := repo.commit(files{"pools/a.yaml": "kind: Nonsense\n"})
	w.request("bad", bad)
	w.stop()
	mark := w.mark()
	w.start()
	w.request("bad", "after the restart")
	w.stands("bad", v1.ValidCondition, metav1.ConditionFalse, v1.InvalidReason, "a.yaml:1: ", bad, good+" stays")
	w.wroteOnly(mark, "patch nodepoolsources/status bad")
	w.carries("a1", tiers("a", tier))
}
