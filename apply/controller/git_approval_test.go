package controller

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// A blocked prune says how to approve it, and that works: for that revision, and
// once. A slip of the hand, a later revision, later pools at the same revision
// and the same revision come back later are all blocked as before.
func TestGitApprovedPruneHappensOnce(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	all := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	content := files{}
	for _, name := range all {
		w.node(name+"1", role(name))
		content["pools/"+name+".yaml"] = poolFile(name, "0")
	}
	first := repo.commit(content)
	w.source("once", repo.url(), rarely)
	w.follows("once", first)
	w.poolsReady(all...)

	second := repo.commit(files{"pools/a.yaml": "", "pools/b.yaml": "", "pools/c.yaml": "", "pools/d.yaml": ""})
	w.request("once", "second")
	w.pruneIsBlocked("once", "4 pools kept", "of 8", "the limit is 3", "kept: a, b, c, d")
	mark := w.mark()
	w.approve("once", first)
	w.pruneIsBlocked("once", "the approval that the source has is of "+fmt.Sprintf("%q", first))
	w.approve("once", strings.TrimSuffix(second, second[len(second)-1:]))
	w.pruneIsBlocked("once", "and not of this revision")
	w.wroteOnly(mark, "patch nodepoolsources/status once")
	w.poolsAre(all...)

	// What the command of the message sets.
	if message := w.readyMessage("once"); !strings.Contains(message, "nodepools approve source/once;") {
		t.Fatalf("no command in %q", message)
	}
	w.approve("once", second)
	w.pruneWasApproved("once", second, "4 pools deleted: a, b, c, d")
	w.poolsAre("e", "f", "g", "h")
	for _, name := range []string{"a", "b", "c", "d"} {
		w.carries(name+"1", role(name))
	}
	w.eventually("the event is there", func() error {
		if reported := w.eventsOf(w.mustRead("once")); !slices.ContainsFunc(reported, func(event string) bool {
			return strings.HasPrefix(event, "PruneApproved: ") && strings.HasSuffix(event, "deleting 4 pools: a, b, c, d")
		}) {
			return fmt.Errorf("events are %q", reported)
		}
		return nil
	})
	if base := w.mustRead("once").Status.PruneBase; base != 4 {
		t.Errorf("after the approved prune the limit is of %d pools, want 4", base)
	}
	for _, write := range w.written(mark) {
		if write == "patch nodes e1" || write == "patch nodepools e" {
			t.Errorf("pool e was never touched, and the loops wrote %q", write)
		}
	}

	// It stays reported, and nothing is written for that.
	mark = w.mark()
	w.request("once", "look")
	w.pruneWasApproved("once", second, "4 pools deleted: a, b, c, d")
	w.wroteOnly(mark, "patch nodepoolsources/status once")

	// Pools that come to the source at the same revision are another matter.
	// They come together, as one would be within the limit.
	w.changeSource("once", func(src *v1.NodePoolSource) { src.Spec.Suspend = true })
	w.stands("once", v1.ReadyCondition, metav1.ConditionFalse, v1.SuspendedReason)
	var late []render.Definition
	for _, name := range []string{"late-1", "late-2", "late-3"} {
		late = append(late, render.Definition{Pool: parsePool(t, poolFile(name, "0")), File: "late.yaml", Line: 1})
	}
	p, err := plan.Pools(plan.Revision{Source: "once", SourceUID: w.mustRead("once").UID, Name: second, Pools: late}, nil)
	w.do(err)
	w.do(apply.New(w.Client).Pools(t.Context(), p))
	w.changeSource("once", func(src *v1.NodePoolSource) { src.Spec.Suspend = false })
	w.pruneIsBlocked("once", "kept: late-1, late-2, late-3", "the approval of this revision is used up")
	w.poolsAre("e", "f", "g", "h", "late-1", "late-2", "late-3")
	w.kubectl("delete", "nodepools.nodes.lailin.xyz", "late-1", "late-2", "late-3")

	// Another revision.
	third := repo.commit(files{"pools/e.yaml": "", "pools/f.yaml": "", "pools/g.yaml": ""})
	w.request("once", "third")
	w.pruneIsBlocked("once", "3 pools kept", "of 4", "kept: e, f, g", "is of "+fmt.Sprintf("%q", second), third)
	w.poolsAre("e", "f", "g", "h")

	// All pools come back, and then the second revision by a forced push.
	repo.git("reset", "--quiet", "--hard", strings.TrimPrefix(first, "main@sha1:"))
	w.request("once", "back")
	w.follows("once", first)
	w.poolsAre(all...)
	repo.git("reset", "--quiet", "--hard", strings.TrimPrefix(second, "main@sha1:"))
	w.request("once", "again")
	w.pruneIsBlocked("once", "kept: a, b, c, d", "the approval of this revision is used up")
	w.poolsAre(all...)
}

// The loops are killed before each single deletion of an approved prune, and
// before it is noted as done. The next start finishes it, by the approval: the
// limit allows nothing.
func TestCrashDuringAnApprovedPrune(t *testing.T) {
	cluster.Long(t)
	w := newGitWorld(t)
	repo := newRepository(t)
	content := files{"pools/stays.yaml": poolFile("stays", "0")}
	for _, name := range []string{"a", "b", "c"} {
		content["pools/"+name+".yaml"] = poolFile(name, "0")
	}
	whole := repo.commit(content)
	w.source("cut", repo.url(), rarely, func(src *v1.NodePoolSource) { src.Spec.PruneLimit = ptr.To(intstr.FromInt32(0)) })
	w.follows("cut", whole)
	for _, gone := range killPoints() {
		w.poolsAre("a", "b", "c", "stays")
		revision := repo.commit(files{"pools/a.yaml": "", "pools/b.yaml": "", "pools/c.yaml": ""})
		w.request("cut", revision)
		w.pruneIsBlocked("cut", "kept: a, b, c")
		w.poolsReady("a", "b", "c") // a status that is written still would refuse a deletion

		w.stop()
		halted := w.startUntil(func(seen map[string]int, request *http.Request) bool {
			// The three deletions are dry runs first.
			return seen["DELETE nodepools"] == 3+gone && request.Method == http.MethodDelete ||
				gone == 3 && seen["DELETE nodepools"] == 6 && strings.Contains(request.URL.Path, "/nodepoolsources/")
		})
		w.approve("cut", revision)
		<-halted
		w.stop()
		if left := w.undeleted("a", "b", "c"); left != 3-gone {
			t.Fatalf("killed with %d of 3 pools left, want %d", left, 3-gone)
		}
		if handled := w.mustRead("cut").Status.LastHandledPruneApproval; handled == revision {
			t.Errorf("killed after %d of 3 deletions, and the approval is used up", gone)
		}
		w.start()
		w.poolsAre("stays")
		w.sourceIs("cut", "has used up the approval", func(src *v1.NodePoolSource) error {
			if handled := src.Status.LastHandledPruneApproval; handled != revision {
				return fmt.Errorf("it is %q", handled)
			}
			return conditionIs(src.Status.Conditions, v1.ReadyCondition, metav1.ConditionTrue, v1.SucceededReason)
		})
		delete(content, "pools/stays.yaml")
		w.request("cut", "back to "+repo.commit(content))
	}
}

// undeleted counts those of the pools that nobody has deleted.
func (w *gitWorld) undeleted(names ...string) int {
	w.t.Helper()
	count := 0
	for name, pool := range w.allPools() {
		if slices.Contains(names, name) && pool.DeletionTimestamp.IsZero() {
			count++
		}
	}
	return count
}

func (w *gitWorld) approve(source, revision string) {
	w.t.Helper()
	w.kubectl("annotate", "--overwrite", "nodepoolsources.nodes.lailin.xyz", source, v1.ApprovePruneAnnotation+"="+revision)
}

func (w *gitWorld) pruneIsBlocked(source string, texts ...string) {
	w.t.Helper()
	w.stands(source, v1.PruneBlockedCondition, metav1.ConditionTrue, v1.PruneBlockedReason, texts...)
}

// pruneWasApproved waits until a source tells so, and the approval is used up.
func (w *gitWorld) pruneWasApproved(source, revision, text string) {
	w.t.Helper()
	w.sourceIs(source, "has carried out the approved prune of "+revision, func(src *v1.NodePoolSource) error {
		if src.Status.LastHandledPruneApproval != revision || src.Status.Revision != revision {
			return fmt.Errorf("used up is %q, at revision %q: %v", src.Status.LastHandledPruneApproval, src.Status.Revision, messages(src))
		}
		if err := conditionIs(src.Status.Conditions, v1.PruneBlockedCondition, metav1.ConditionFalse, v1.PruneApprovedReason, "the prune of "+revision+" is approved", text); err != nil {
			return err
		}
		return conditionIs(src.Status.Conditions, v1.ReadyCondition, metav1.ConditionTrue, v1.SucceededReason, text)
	})
}

func (w *gitWorld) readyMessage(source string) string {
	w.t.Helper()
	for _, condition := range w.mustRead(source).Status.Conditions {
		if condition.Type == v1.ReadyCondition {
			return condition.Message
		}
	}
	return ""
}
