package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// What reads like "everything was deleted" deletes nothing, and the status says
// why.
func TestGitNothingIsPrunedOnDoubt(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	w.node("a1", role("a"))
	w.node("b1", role("b"))
	content := files{"pools/a.yaml": poolFile("a", "0"), "pools/b.yaml": poolFile("b", "0"), "docs/README.md": "none here"}
	good := repo.commit(content)
	w.source("doubt", repo.url(), rarely)
	w.follows("doubt", good)
	w.poolsReady("a", "b")

	spec := func(change func(*v1.NodePoolSourceSpec)) func(*gitWorld, *repository) {
		return func(w *gitWorld, _ *repository) {
			w.changeSource("doubt", func(src *v1.NodePoolSource) { change(&src.Spec) })
		}
	}
	for _, tc := range []struct {
		name   string
		reason string
		doubt  func(*gitWorld, *repository)
		// stays reports whether the last good revision stays the one that the
		// cluster is of.
		stays     bool
		condition string
		status    metav1.ConditionStatus
		why       string
		says      []string
	}{
		{
			name: "folder deleted", reason: "Git knows no empty folder", stays: true,
			doubt:     func(_ *gitWorld, r *repository) { r.git("rm", "-rq", "pools"); r.commit(nil) },
			condition: v1.FetchedCondition, status: metav1.ConditionFalse, why: "PathMissing",
			says: []string{`"pools"`, "is not taken; main@sha1:"},
		},
		{
			name: "folder emptied of pools", reason: "the last pools of a source are never pruned",
			doubt: func(_ *gitWorld, r *repository) {
				r.git("rm", "-rq", "pools")
				r.commit(files{"pools/.gitkeep": "here\n"})
			},
			condition: v1.PruneBlockedCondition, status: metav1.ConditionTrue, why: v1.PruneBlockedReason,
			says: []string{"2 pools kept", "no pool at all", "a, b"},
		},
		{
			name: "another branch that is not there", reason: "what cannot be read is not empty", stays: true,
			doubt:     spec(func(spec *v1.NodePoolSourceSpec) { spec.Ref = &v1.GitRef{Branch: "gone"} }),
			condition: v1.FetchedCondition, status: metav1.ConditionFalse, why: "RefMissing",
			says: []string{"gone"},
		},
	} {
		went := t.Run(tc.name, func(t *testing.T) {
			w, repo := w.in(t), &repository{t: t, dir: repo.dir}
			mark := w.mark()
			tc.doubt(w, repo)
			w.request("doubt", tc.name)
			w.stands("doubt", tc.condition, tc.status, tc.why, tc.says...)
			if src, err := w.readSource("doubt"); err != nil || (src.Status.Revision == good) != tc.stays && tc.condition == v1.FetchedCondition {
				t.Errorf("revision is %q, which was %q: %v", src.Status.Revision, good, err)
			}
			w.wroteOnly(mark, "patch nodepoolsources/status doubt")
			w.poolsAre("a", "b")
			w.carries("a1", tiers("a", "0"))
			w.carries("b1", tiers("b", "0"))

			w.changeSource("doubt", func(src *v1.NodePoolSource) { src.Spec.Path, src.Spec.Ref = "pools", nil })
			repo.git("rm", "-rq", ".")
			good = repo.commit(content)
			w.request("doubt", good)
			w.follows("doubt", good)
		})
		if !went {
			t.Fatalf("the case is there because %s; what comes after it would only fail as well", tc.reason)
		}
	}
}

// More pools gone than the limit: none is pruned, the rest of the revision goes
// through, and a raised limit lets them go.
func TestGitPruneLimit(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	content := files{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		w.node(name+"1", role(name))
		content["pools/"+name+".yaml"] = poolFile(name, "0")
	}
	w.node("f1", role("f"))
	first := repo.commit(content)
	w.source("limit", repo.url())
	w.follows("limit", first)
	w.poolsReady("a", "b", "c", "d", "e")

	mark := w.mark()
	second := repo.commit(files{
		"pools/a.yaml": "", "pools/b.yaml": "", "pools/c.yaml": "",
		"pools/d.yaml": poolFile("d", "1"), "pools/f.yaml": poolFile("f", "0"),
		"pools/g.yaml": poolFile("g", "0"), "pools/h.yaml": poolFile("h", "0"), "pools/i.yaml": poolFile("i", "0"),
	})
	w.stands("limit", v1.PruneBlockedCondition, metav1.ConditionTrue, v1.PruneBlockedReason,
		"3 pools kept", "of 5", "the limit is 2", "spec.pruneLimit 30%", "kept: a, b, c")
	w.carries("d1", tiers("d", "1"))
	w.carries("f1", tiers("f", "0"))
	w.carries("a1", tiers("a", "0"))
	w.poolsAre("a", "b", "c", "d", "e", "f", "g", "h", "i")
	src, err := w.readSource("limit")
	w.do(err)
	if src.Status.Revision != second || src.Status.Pools != 6 {
		t.Errorf("revision %q with %d pools is carried out, want %q with 6", src.Status.Revision, src.Status.Pools, second)
	}
	// What the percentage is of must not move: of the nine pools that are in the
	// cluster now, three would be within it. They stay at the next looks, and
	// at the next revision.
	w.request("limit", "again")
	w.poolsAre("a", "b", "c", "d", "e", "f", "g", "h", "i")
	second = repo.commit(files{"pools/d.yaml": poolFile("d", "2")})
	w.carries("d1", tiers("d", "2"))
	w.stands("limit", v1.PruneBlockedCondition, metav1.ConditionTrue, v1.PruneBlockedReason, "of 5", "the limit is 2")
	w.poolsAre("a", "b", "c", "d", "e", "f", "g", "h", "i")

	w.changeSource("limit", func(src *v1.NodePoolSource) { src.Spec.PruneLimit = ptr.To(intstr.FromInt32(3)) })
	w.follows("limit", second)
	w.sourceIs("limit", "holds nothing back", func(src *v1.NodePoolSource) error {
		return conditionIs(src.Status.Conditions, v1.PruneBlockedCondition, metav1.ConditionFalse, v1.SucceededReason)
	})
	w.poolsAre("d", "e", "f", "g", "h", "i")
	for _, name := range []string{"a", "b", "c"} {
		w.carries(name+"1", role(name))
	}
	w.hasNoRecord("a1", "b1", "c1")
	for _, write := range w.written(mark) {
		if write == "patch nodes e1" || write == "patch nodepools e" {
			t.Errorf("pool e was never touched, and the loops wrote %q", write)
		}
	}
}

// kubectl does something by hand.
func (w *gitWorld) kubectl(args ...string) {
	w.t.Helper()
	_, err := w.cluster.Kubectl(w.t.Context(), args...)
	w.do(err)
}
