package status_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/api/sanitize"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/status"
	hostiletexts "github.com/nodepools/nodepools/testdata/hostile"
)

const revision = "main@sha1:6d0c4c1f2b6a2e3c4d5e6f708192a3b4c5d6e7f8"

// sourceOf is a source with its conditions since some time.
func sourceOf(name, condition, reason, message string, change ...func(*v1.NodePoolSource)) *v1.NodePoolSource {
	pool := poolOf(name, nil, reports(condition, reason, message, 12*time.Minute, 0, 0, 0))
	src := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 7}}
	src.Status = v1.NodePoolSourceStatus{ObservedGeneration: 7, Conditions: pool.Status.Conditions, Revision: revision, LastAttemptedRevision: revision, Pools: 4}
	for _, each := range change {
		each(src)
	}
	return src
}

// sources has a source in each phase, and with each thing to do.
func sources() []*v1.NodePoolSource {
	return []*v1.NodePoolSource{
		sourceOf("applied", v1.ReadyCondition, v1.SucceededReason, "applied 4 pools of "+revision),
		sourceOf("away", v1.ReconcilingCondition, "Unreachable", "https://git.example.com/pools: no connection; check the host name, the port, network policies and proxy settings"),
		sourceOf("blocked", v1.StalledCondition, v1.PruneBlockedReason, "4 pools kept that are no longer in the repository, of 5, because the limit is 2 (spec.pruneLimit 30%); kept: a, b, c, d; if it is meant, approve it for this revision alone"),
		sourceOf("broken", v1.StalledCondition, v1.InvalidReason, "gpu.yaml:7: spec.lables: unknown field; did you mean labels?; revision main@sha1:0a1b2c3d4e5f60718293a4b5c6d7e8f901234567 is not taken; "+revision+" stays"),
		sourceOf("changed", v1.ReadyCondition, v1.SucceededReason, "", func(src *v1.NodePoolSource) { src.Generation++ }),
		sourceOf("claims", v1.StalledCondition, v1.ClaimedReason, `gpu.yaml:1: pool "gpu" exists already, and source "platform" owns it`),
		sourceOf("held", v1.StalledCondition, v1.ReleaseBlockedReason, "pool gpu: 6 of 8 nodes would leave it"),
		sourceOf("leaving", v1.ReconcilingCondition, v1.DeletingReason, "4 pools deleted with the source", func(src *v1.NodePoolSource) {
			src.DeletionTimestamp, src.Finalizers = &metav1.Time{Time: now}, []string{v1.SourceFinalizer}
		}),
		sourceOf("left-alone", "", v1.PausedReason, "", func(src *v1.NodePoolSource) { src.Annotations = map[string]string{v1.ReconcileAnnotation: v1.Disabled} }),
		sourceOf("moving", v1.ReconcilingCondition, v1.WaitingForSourceReason, `1 pool kept, because source "other", which may have them, was not polled since`),
		sourceOf("night", v1.ReconcilingCondition, v1.WaitingForWindowReason, "waits"),
		sourceOf("suspended", "", v1.SuspendedReason, "spec.suspend is true", func(src *v1.NodePoolSource) { src.Spec.Suspend = true }),
		{ObjectMeta: metav1.ObjectMeta{Name: "unseen"}},
	}
}

// Sources come before pools: those that need a person first, with what to do.
func TestSources(t *testing.T) {
	report := status.Of(status.Cluster{Sources: sources(), Pools: world(t).Pools[:1]}, now)
	golden(t, "sources.txt", textOf(t, report, status.Form{}))
	for i := range report.Sources {
		report.Sources[i].Since = nil
	}
	text, err := json.MarshalIndent(report.Sources, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "sources.json", string(text)+"\n")
	if only, _ := report.Only("done"); len(only.Sources) > 0 {
		t.Errorf("one pool is shown with the sources %v", only.Sources)
	}
}

// A source that needs a person is a failure, and one that has not applied its newest revision
// is not complete.
func TestSourcesDecideTheOutcome(t *testing.T) {
	done := world(t).Pools[:1]
	failed := []string{"blocked", "broken", "claims", "held"}
	complete := []string{"applied", "left-alone", "suspended"}
	for _, src := range sources() {
		report := status.Of(status.Cluster{Sources: []*v1.NodePoolSource{src}, Pools: done}, now)
		if want := slices.Contains(failed, src.Name); report.Failed() != want {
			t.Errorf("%s: failed is %t, want %t", src.Name, report.Failed(), want)
		}
		if want := slices.Contains(complete, src.Name); report.Complete() != want {
			t.Errorf("%s: complete is %t, want %t", src.Name, report.Complete(), want)
		}
	}
}

// What stands in a source reaches no terminal as it is.
func TestHostileSource(t *testing.T) {
	for name, text := range hostiletexts.Samples() {
		for _, reason := range []string{text, v1.PruneBlockedReason} {
			src := sourceOf(text, v1.StalledCondition, reason, text, func(src *v1.NodePoolSource) { src.Status.Revision = text })
			report := status.Of(status.Cluster{Sources: []*v1.NodePoolSource{src}}, now)
			var got bytes.Buffer
			if err := report.WriteText(&got, status.Form{}); err != nil {
				t.Fatal(err)
			}
			if strings.ContainsFunc(got.String(), func(r rune) bool { return r != '\n' && sanitize.Hidden(r) }) {
				t.Errorf("%s is shown as %q", name, got.String())
			}
			if line := report.Sources[0].Line(); strings.ContainsFunc(line, func(r rune) bool { return r == '\n' || sanitize.Hidden(r) }) {
				t.Errorf("%s is shown as %q", name, line)
			}
		}
	}
}
