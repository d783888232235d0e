package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// While a change waits for a turn that never comes, those of other pools wait with it; when
// its window closes they may go, and the node has to be decided anew then.
func TestOutcomeSaysWhenWindowsClose(t *testing.T) {
	none, one := intstr.FromInt32(0), intstr.FromInt32(1)
	pool := func(name, value string, rollout *v1.Rollout) *v1.NodePool {
		return waitingPool(name, func(pool *v1.NodePool) {
			pool.Spec.Labels = map[string]v1.LabelValue{"example.com/" + name: v1.LabelValue(value)}
			pool.Spec.Rollout = rollout
		})
	}
	node := followed(t, 365*24*time.Hour, pool("p", "1", nil), pool("q", "1", nil))
	window := &v1.Rollout{MaxUnavailable: &none, Windows: []v1.Window{{Schedule: "30 11 * * *", Duration: metav1.Duration{Duration: 40 * time.Minute}}}}
	both := []*v1.NodePool{pool("p", "2", &v1.Rollout{MaxUnavailable: &one}), pool("q", "2", window)}
	o := outcomeAt(node, closedAt, both...)
	if closes := closedAt.Add(10 * time.Minute); len(o.Wait) != 2 || !o.Closes.Equal(closes) {
		t.Errorf("%s wait, and are decided anew at %v, want both at %v", waitsText(o), o.Closes, closes)
	}
	o = outcomeAt(node, closedAt, both[0], pool("q", "1", window))
	if len(o.Wait) != 1 || !o.Closes.IsZero() {
		t.Errorf("%s wait, and are decided anew at %v; it makes no difference when q closes", waitsText(o), o.Closes)
	}
}

// What waited for a window that is over by now waits for the next one: it does not ask over
// and over again whether the one before has opened.
func TestWaitAfterAShortWindow(t *testing.T) {
	short := waitingPool("p", all(labelled("2"), func(pool *v1.NodePool) {
		pool.Spec.Rollout = &v1.Rollout{Windows: []v1.Window{{Schedule: "2 12,15 * * *", Duration: metav1.Duration{Duration: time.Minute}}}}
	}))
	node, rollouts := followed(t, 365*24*time.Hour, waitingPool("p", labelled("1"))), RolloutsOf([]*v1.NodePool{short})
	for _, c := range []struct{ after, opens time.Duration }{{0, 2 * time.Minute}, {3 * time.Minute, 182 * time.Minute}} {
		o := NodeOutcomeOf(node, expand(short), NodeFacts{Rollouts: rollouts, Now: closedAt.Add(c.after)})
		if until := o.Wait.Until(); !until.Equal(closedAt.Add(c.opens)) {
			t.Errorf("at %v it waits until %v, want %v", closedAt.Add(c.after), until, closedAt.Add(c.opens))
		}
	}
}
