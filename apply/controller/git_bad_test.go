package controller

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// aliasBomb is a pool of a kilobyte that would be a billion values if every
// alias were written out.
func aliasBomb() string {
	lines := []string{"apiVersion: nodes.lailin.xyz/v1", "kind: NodePool", "metadata: {name: bomb}", "x0: &x0 [a, a, a, a, a, a, a, a, a, a]"}
	for i := 1; i <= 9; i++ {
		alias := fmt.Sprintf("*x%d", i-1)
		lines = append(lines, fmt.Sprintf("x%d: &x%d [%s]", i, i, strings.TrimSuffix(strings.Repeat(alias+", ", 10), ", ")))
	}
	return strings.Join(lines, "\n") + "\n"
}

// A revision with anything wrong in it changes nothing in the cluster, and the
// status says which file, which line and why. The next good one goes through.
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
			name:   "syntax error",
			reason: "what cannot be parsed may hold any pool",
			files:  files{"pools/c.yaml": "apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata:\n  name: [c\n"},
			says:   []string{"c.yaml:4: "},
		},
		{
			name:   "unknown field",
			reason: "a mistyped field would silently do nothing",
			files:  files{"pools/c.yaml": poolFile("c", "x", "  taint: []")},
			says:   []string{`c.yaml:8: `, `"taint"`},
		},
		{
			name:   "bad label value",
			reason: "no node could carry it",
			files:  files{"pools/c.yaml": poolFile("c", "not a value")},
			says:   []string{"c.yaml:7: ", `"not a value"`},
		},
		{
			name:   "bad taint effect",
			reason: "there are three effects",
			files:  files{"pools/c.yaml": poolFile("c", "x", "  taints:", "  - key: k", "    effect: NoRun")},
			says:   []string{"c.yaml:10: ", `"NoRun"`},
		},
		{
			name:   "duplicate pool",
			reason: "one of the two is mistyped, and nobody knows which",
			files:  files{"pools/copy.yaml": poolFile("b", "copy")},
			says:   []string{"b.yaml:", "copy.yaml:"},
		},
		{
			name:   "alias bomb",
			reason: "it must not be written out",
			files:  files{"pools/bomb.yaml": aliasBomb()},
			says:   []string{"bomb.yaml"},
		},
		{
			name:   "cycle of parents",
			reason: "no pool of it has an outermost one",
			files: files{
				"pools/c.yaml": poolFile("c", "x", "  parent: d"),
				"pools/d.yaml": poolFile("d", "x", "  parent: c"),
			},
			says: []string{"c.yaml:8: ", "d.yaml:8: ", "encloses itself", "c -> d -> c"},
		},
		{
			name:   "missing parent",
			reason: "its nodes are not known",
			files:  files{"pools/c.yaml": poolFile("c", "x", "  parent: nobody")},
			says:   []string{"c.yaml:8: ", `"nobody"`},
		},
		{
			name:   "another kind",
			reason: "it may be a pool whose kind is mistyped, and not to see it would delete it",
			files:  files{"pools/c.yaml": strings.Replace(poolFile("c", "x"), "NodePool", "NodePol", 1)},
			says:   []string{"c.yaml:2: ", "NodePol"},
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
}

// However much is wrong, the status stays readable and is taken by the API
// server, and says how much it leaves out.
func TestGitManyProblemsAreCounted(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	var many strings.Builder
	for i := range 400 {
		fmt.Fprintf(&many, "---\n%s", poolFile(fmt.Sprintf("pool-%d", i), "?"))
	}
	repo.commit(files{"pools/many.yaml": many.String()})
	w.source("many", repo.url())
	w.stands("many", v1.ValidCondition, metav1.ConditionFalse, v1.InvalidReason, "many.yaml:8: ", "and 390 more; ")
}

// What is right in itself and was there before stays when the loops start anew
// beside a bad revision.
func TestGitRestartBesideABadRevision(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	w.node("a1", role("a"))
	good := repo.commit(files{"pools/a.yaml": poolFile("a", "0")})
	w.source("restart", repo.url())
	w.follows("restart", good)
	w.poolsReady("a")
	bad := repo.commit(files{"pools/a.yaml": "kind: Nonsense\n"})
	w.stands("restart", v1.ValidCondition, metav1.ConditionFalse, v1.InvalidReason)

	w.stop()
	mark := w.mark()
	w.start()
	w.request("restart", "after the restart")
	w.stands("restart", v1.ValidCondition, metav1.ConditionFalse, v1.InvalidReason, "a.yaml:1: ", bad, good+" stays")
	w.wroteOnly(mark, "patch nodepoolsources/status restart")
	w.poolsAre("a")
	w.carries("a1", tiers("a", "0"))
}
