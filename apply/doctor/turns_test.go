package doctor

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A rollout in which nodes take turns is under way, and nothing is wrong.
func TestTurnsAreNoProblem(t *testing.T) {
	one := intstr.FromInt32(1)
	for name, change := range map[string]func(*v1.NodePool){
		"nodes wait": func(p *v1.NodePool) {
			p.Status.Conditions = []metav1.Condition{condition("Ready", "False", v1.WaitingForBudgetReason, "message")}
			p.Status.Rollout = &v1.RolloutStatus{Waiting: 3}
		},
		"paused": func(p *v1.NodePool) {
			p.Spec.Rollout.Paused = true
			p.Status.Conditions = []metav1.Condition{condition("Ready", "False", v1.RolloutPausedReason, "message")}
			p.Status.Rollout = &v1.RolloutStatus{Waiting: 3}
		},
		"a weaker pool follows in the waves": func(p *v1.NodePool) { p.Status.Rollout = &v1.RolloutStatus{Wave: "canary"} },
	} {
		s := healthy(t)
		s.Pools[0].Spec.Rollout = &v1.Rollout{MaxUnavailable: &one}
		change(s.Pools[0])
		for _, f := range Examine(s).Findings {
			if f.Severity == Problem {
				t.Errorf("%s: %s: %s; %s", name, f.Object, f.Message, f.Action)
			}
		}
	}
}
