package controller

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A source that is suspended, or paused by its annotation, is left alone in
// every way, and followed again after.
func TestGitSuspend(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	server := repo.serve(t)
	w.node("a1", role("a"))
	first := repo.commit(files{"pools/a.yaml": poolFile("a", "0")})
	w.source("rests", server.url())
	w.follows("rests", first)
	w.poolsReady("a")

	for i, tc := range []struct {
		why    string
		rest   func(*v1.NodePoolSource)
		follow func(*v1.NodePoolSource)
	}{
		{
			v1.SuspendedReason,
			func(src *v1.NodePoolSource) { src.Spec.Suspend = true },
			func(src *v1.NodePoolSource) { src.Spec.Suspend = false },
		},
		{
			v1.PausedReason,
			func(src *v1.NodePoolSource) {
				metav1.SetMetaDataAnnotation(&src.ObjectMeta, v1.ReconcileAnnotation, v1.Disabled)
			},
			func(src *v1.NodePoolSource) { delete(src.Annotations, v1.ReconcileAnnotation) },
		},
	} {
		before := tiers("a", fmt.Sprint(i))
		w.carries("a1", before)
		w.changeSource("rests", tc.rest)
		w.stands("rests", v1.StalledCondition, metav1.ConditionFalse, tc.why)
		mark := w.mark()
		server.requests()
		next := repo.commit(files{"pools/a.yaml": poolFile("a", fmt.Sprint(i+1))})
		// Neither a request nor a change of a pool wakes it. A second source, looked
		// at as often, shows that time has passed.
		w.changeSource("rests", func(src *v1.NodePoolSource) {
			metav1.SetMetaDataAnnotation(&src.ObjectMeta, v1.RequestedAtAnnotation, tc.why)
		})
		w.kubectl("label", "nodepools.nodes.lailin.xyz", "a", "example.com/by-hand="+tc.why, "--overwrite")
		clock := newRepository(t)
		ticks := clock.serve(t)
		clock.commit(files{"pools/clock.yaml": poolFile("clock-"+fmt.Sprint(i), "0")})
		w.source(fmt.Sprintf("clock-%d", i), ticks.url())
		w.eventually("three looks at another source", func() error {
			if n := ticks.asked(listing); n < 4 {
				return fmt.Errorf("%d requests", n)
			}
			return nil
		})
		if lists, packs := server.requests(); lists+packs > 0 {
			t.Errorf("%s: %d lists and %d packs were asked for", tc.why, lists, packs)
		}
		for _, write := range w.written(mark) {
			if write == "patch nodepools a" || write == "patch nodes a1" {
				t.Errorf("%s: the loops wrote %q", tc.why, write)
			}
		}
		if handled := w.mustRead("rests").Status.LastHandledReconcileAt; handled == tc.why {
			t.Errorf("%s: a request was said to be handled", tc.why)
		}
		w.carries("a1", before)

		w.changeSource("rests", tc.follow)
		w.follows("rests", next)
	}
	w.carries("a1", tiers("a", "2"))
}

// A source that is changed while it is being looked at is not carried out as it
// was.
func TestGitSourceChangedDuringAPoll(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	server := repo.serve(t)
	w.node("a1", role("a"))
	first := repo.commit(files{"pools/a.yaml": poolFile("a", "0")})
	w.source("during", server.url(), rarely)
	w.follows("during", first)
	w.poolsReady("a")

	asked, goOn := server.halt()
	second := repo.commit(files{"pools/a.yaml": poolFile("a", "1")})
	mark := w.mark()
	w.changeSource("during", func(src *v1.NodePoolSource) {
		metav1.SetMetaDataAnnotation(&src.ObjectMeta, v1.RequestedAtAnnotation, "now")
	})
	<-asked
	w.changeSource("during", func(src *v1.NodePoolSource) { src.Spec.Suspend = true })
	// The other loops are served by the same cache: when they act on something
	// that came later, it has seen the change.
	w.node("a2", role("a"))
	w.carries("a2", tiers("a", "0"))
	close(goOn)
	w.stands("during", v1.ReadyCondition, metav1.ConditionFalse, v1.SuspendedReason)
	w.wroteOnly(mark, "patch nodes a2", "patch nodepoolsources/status during")
	w.carries("a1", tiers("a", "0"))

	server.well()
	w.changeSource("during", func(src *v1.NodePoolSource) { src.Spec.Suspend = false })
	w.follows("during", second)
	w.carries("a1", tiers("a", "1"))
}

// A source that is deleted and made again under its name while it is being
// looked at inherits nothing that was read for its namesake.
func TestGitSourceReplacedDuringAPoll(t *testing.T) {
	w := newGitWorld(t)
	repo, other := newRepository(t), newRepository(t)
	server := repo.serve(t)
	w.node("a1", role("a"))
	first := repo.commit(files{"pools/a.yaml": poolFile("a", "0")})
	other.commit(files{"pools/a.yaml": "kind: Nonsense\n"})
	w.source("replaced", server.url(), rarely)
	w.follows("replaced", first)
	w.poolsReady("a")

	asked, goOn := server.halt()
	repo.commit(files{"pools/a.yaml": poolFile("a", "1")})
	w.changeSource("replaced", func(src *v1.NodePoolSource) {
		metav1.SetMetaDataAnnotation(&src.ObjectMeta, v1.RequestedAtAnnotation, "now")
	})
	<-asked
	w.kubectl("delete", "nodepoolsources.nodes.lailin.xyz", "replaced")
	w.source("replaced", other.url(), rarely)
	w.kubectl("patch", "nodepools.nodes.lailin.xyz", "a", "--type=merge", "-p", `{"spec":{"labels":{"example.com/tier":"hand"}}}`)
	w.carries("a1", tiers("a", "hand"))
	close(goOn)
	w.stands("replaced", v1.ValidCondition, metav1.ConditionFalse, v1.InvalidReason)
	w.request("replaced", "once more")
	if revision := w.mustRead("replaced").Status.Revision; revision != "" {
		t.Errorf("revision is %q, and none was carried out", revision)
	}
	w.carries("a1", tiers("a", "hand"))
}
