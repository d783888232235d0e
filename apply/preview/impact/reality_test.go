package impact_test

import (
	"flag"
	"maps"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nodepools/nodepools/api/crds"
	"github.com/nodepools/nodepools/testdata/cluster"
)

func TestMain(m *testing.M) {
	definitions, err := crds.All()
	if err != nil {
		panic(err)
	}
	ctrl.SetLogger(logr.Discard())
	// The scenarios wait for Kubernetes most of the time, so they all run at once,
	// however few cores there are. A flag on the command line goes before this.
	if err := flag.Set("test.parallel", "100"); err != nil {
		panic(err)
	}
	cluster.Main(m, cluster.Options{ControllerManager: true, Scheduler: true, Kwok: true, CRDs: definitions})
}

// TestImpactEqualsReality predicts what a change of pools does to pods, lets the
// product's loops carry the change out, and compares with what the taint
// eviction, the DaemonSet and the disruption controller and the scheduler do.
// What a scenario says itself holds the prediction to what people know of
// Kubernetes; the comparison holds it to Kubernetes, pod by pod.
func TestImpactEqualsReality(t *testing.T) {
	stage := newStage(t)
	scenarios := maps.Clone(taintScenarios)
	maps.Copy(scenarios, poolScenarios)
	maps.Copy(scenarios, drainScenarios)
	for name, s := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stage.perform(t, s, func(predicted outcome) {
				if diff := cmp.Diff(s.want, predicted.said()); diff != "" {
					t.Errorf("%s: predicted otherwise than the scenario says (-want +got):\n%s", s.reason, diff)
				}
			})
		})
	}
}

// perform plays a scenario and compares what was predicted with what happens.
func (s *stage) perform(t *testing.T, scenario scenario, judge func(predicted outcome)) {
	t.Helper()
	play := s.open(t, scenario)
	predicted := play.predict()
	if judge != nil {
		judge(predicted)
	}
	play.carryOut()
	observed := play.observe()
	if diff := cmp.Diff(predicted.compared(), observed.compared()); diff != "" {
		t.Errorf("%s: reality is otherwise than predicted (-predicted +observed):\n%s", scenario.reason, diff)
	}
}

// sorted returns what it is given, sorted and never nil.
func sorted(lines []string) []string {
	slices.Sort(lines)
	return append([]string{}, lines...)
}
