package plan

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func aged(days int) func(*v1.NodePool) {
	return func(pool *v1.NodePool) {
		pool.CreationTimestamp = metav1.NewTime(closedAt.Add(-time.Duration(days) * 24 * time.Hour))
	}
}

// A kubelet sets a label by which its node enters a closed pool: the RuntimeClass of the
// pool is no wider for it.
func TestNodeThatEntersStepsNoClass(t *testing.T) {
	pool := waitingPool("p", all(closed, tainted("1", corev1.TaintEffectNoSchedule), func(pool *v1.NodePool) {
		pool.Spec.NodeNames = nil
		pool.Spec.Selector = &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"enter": "yes"}}
		pool.Spec.Labels = map[string]v1.LabelValue{"disk": "ssd"}
	}))
	fleet := waitingPool("fleet", nil)
	evil := followed(t, 365*24*time.Hour, fleet, pool)
	evil.Labels["enter"] = "yes"
	o := outcomeAt(evil, closedAt, fleet, pool)
	if len(o.Wait) == 0 {
		t.Fatal("it does not wait")
	}
	if o.Step != nil && slices.Contains(o.Step.Pools, "p") {
		t.Errorf("as a kubelet has labelled its node, the RuntimeClasses of %v are in step with it", o.Step.Pools)
	}
}

// Of two waits that differ in their reason alone the first is the same in any order.
func TestFirstWaitIsOne(t *testing.T) {
	a := PoolWait{"p", &Restriction{For: []string{"p"}, Next: opensAt, Excluded: true, Reason: "peak"}}
	b := PoolWait{"p", &Restriction{For: []string{"p"}, Next: opensAt}}
	if !FirstWait([]PoolWait{a, b}).Equal(FirstWait([]PoolWait{b, a})) {
		t.Error("the first of two waits, which are the keys of a map, depends on their order, and so does the status")
	}
}

// A RuntimeClass that somebody has deleted while nodes wait is made so that it fits these.
func TestMissingClassIsMadeInStep(t *testing.T) {
	before, after := waitingPool("p", labelled("1")), waitingPool("p", all(labelled("2"), closed, changedAt(closedAt)))
	node := followed(t, 365*24*time.Hour, before)
	o := outcomeAt(node, closedAt, after)
	made := PoolOutcomeOf(after, nil, expand(after), nil, PoolFacts{Steps: []*ClassStep{o.Step}}).RuntimeClass.Want
	if !fits(made, o.Admission.Plan.After(node)) {
		t.Errorf("it is made as if no node waited: %v", made.Scheduling)
	}
}

// A paused pool does not wait, though another one on the node has something to write.
func TestPausedPoolWaitsForNoWindow(t *testing.T) {
	node := followed(t, 365*24*time.Hour, waitingPool("p", labelled("1")), waitingPool("q", nil))
	p := faulty(waitingPool("p", all(labelled("2"), closed)))
	q := waitingPool("q", annotated("1"))
	o := outcomeAt(node, closedAt, p, q)
	if len(o.Wait) > 0 {
		t.Errorf("a pool that is paused waits for a window: %q", waitsText(o))
	}
}

// A pool that is being deleted holds up its own release, and no other pool.
func TestDeletedPoolFreezesNothing(t *testing.T) {
	freeze := waitingPool("freeze", all(prior(1000), func(pool *v1.NodePool) {
		pool.Spec.Rollout = &v1.Rollout{Exclusions: []v1.Exclusion{{Start: &metav1.Time{Time: closedAt.Add(-time.Hour)}, End: &metav1.Time{Time: closedAt.Add(365 * 24 * time.Hour)}}}}
	}))
	node := followed(t, 365*24*time.Hour, freeze, waitingPool("p", labelled("1")))
	deletedAt(closedAt)(freeze)
	o := outcomeAt(node, closedAt.Add(time.Hour), freeze, waitingPool("p", labelled("2")))
	if o.Wait.Of("p") != nil {
		t.Errorf("the freeze was deleted, and another pool waits for it: %q", waitsText(o))
	}
}

// A pool of which the finalizer was removed is gone, and still frozen: its keys stay while
// the freeze of the cluster is in force, and a closed pool gets nothing in their place.
func TestGonePoolIsFrozen(t *testing.T) {
	freeze := waitingPool("freeze", all(prior(1000), closed))
	gone := waitingPool("gone", tainted("1", corev1.TaintEffectNoExecute))
	heir := waitingPool("heir", all(closed, tainted("2", corev1.TaintEffectNoExecute)))
	node := followed(t, 365*24*time.Hour, freeze, gone)
	o := outcomeAt(node, closedAt, freeze)
	if after := o.Admission.Plan.After(node); len(after.Taints) == 0 {
		t.Errorf("in a freeze the taint of a pool without finalizer goes: waits %q", waitsText(o))
	}
	o = outcomeAt(node, closedAt, freeze, heir)
	if after := o.Admission.Plan.After(node); after.Taints[0].Value == "2" {
		t.Errorf("in a freeze a closed pool puts its NoExecute taint in the place of one that is gone: waits %q", waitsText(o))
	}
}

// That somebody has annotated a pool makes no difference to whether a node joins it.
func TestAnnotationMakesNoNodeOlder(t *testing.T) {
	p := waitingPool("p", all(closed, tainted("1", corev1.TaintEffectNoExecute), aged(400)))
	node := newNode("n")
	node.Created = metav1.NewTime(closedAt.Add(-time.Hour)) // it came while the controller was away
	other := p.DeepCopy()
	other.Annotations = map[string]string{"example.com/owner": "somebody"}
	writtenAt(closedAt.Add(-time.Minute), `{"f:metadata":{"f:annotations":{}}}`)(other)
	a, b := outcomeAt(node, closedAt, p), outcomeAt(node, closedAt, other)
	if len(a.Wait) != len(b.Wait) {
		t.Errorf("an annotation on the pool decides whether a new node gets its wall: %q, %q", waitsText(a), waitsText(b))
	}
}

// What somebody else has put there is taken over when the pool that takes it over follows. That another
// one is free, which wants the same and would report it, is no reason: it waits as well, and asks for no
// turn, in which nothing would happen.
func TestWhoeverReportsTakesNothingOver(t *testing.T) {
	for name, rollout := range map[string]func(*v1.NodePool){"free": func(*v1.NodePool) {}, "in turns": limited("1", time.Minute)} {
		takes := waitingPool("takes", all(prior(1), tainted("v", corev1.TaintEffectNoSchedule), takesOver, closed))
		reports := waitingPool("reports", all(tainted("v", corev1.TaintEffectNoSchedule), rollout))
		node := foreignTaint(followed(t, longAgo, waitingPool("takes", nil), waitingPool("reports", nil)), "theirs", corev1.TaintEffectNoSchedule)
		o := decide(node, closedAt, nil, takes, reports)
		if got := taintsOf(carry(node, o)); !slices.Equal(got, []string{"theirs:NoSchedule"}) || waitsText(o) != "reports[takes] takes[takes]" || len(o.Asks) > 0 {
			t.Errorf("%s: outside the window it has the taints %v, waits %q, and asks %v", name, got, waitsText(o), o.Asks)
		}
		if got := taintsOf(carry(node, decide(node, opensAt, []string{"reports"}, takes, reports))); !slices.Equal(got, []string{"v:NoSchedule"}) {
			t.Errorf("%s: in the window it has the taints %v", name, got)
		}
	}
}

func takesOver(pool *v1.NodePool) { pool.Spec.ConflictPolicy = v1.TakeOver }
