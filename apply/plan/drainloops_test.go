package plan

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A drain is recorded also where nothing on the node is ours: the role label, and what keeps
// pods off, somebody else has set.
func TestDrainWithoutOtherEntriesIsRecorded(t *testing.T) {
	for _, value := range []string{"v", "theirs"} {
		pool := drainingPool(func(p *v1.NodePool) {
			p.Spec.Labels, p.Spec.NodeNames = nil, nil
			p.Spec.Rollout.Drain.OnTimeout = v1.ForceOnTimeout
		})
		node := newNode("n")
		node.Created = metav1.NewTime(closedAt.Add(-longAgo))
		node.Labels = map[string]string{v1.RoleLabel("p"): ""}
		node.Taints = []corev1.Taint{{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule}}
		writes := 0
		for i := range 5 {
			o := decide(node, closedAt.Add(time.Duration(i)*time.Minute), []string{"p"}, pool)
			if i == 0 && !slices.Equal(o.Members, []string{"p"}) {
				t.Fatal(o.Members)
			}
			if o.State == NodeStateChanging {
				writes++
			}
			node = carry(node, o)
		}
		if writes > 1 || len(LastChangeOf(node).Drains) == 0 {
			t.Errorf("%s: 5 passes, %d writes, record %q", value, writes, node.Annotations[v1.AppliedAnnotation])
		}
		o := NodeOutcomeOf(node, expand(pool), NodeFacts{Rollouts: RolloutsOf([]*v1.NodePool{pool}), Turn: turnFor("p"), Evicted: true, Drained: true, Now: closedAt.Add(3 * time.Hour)})
		if !hasNoExecute(carry(node, o), "v") {
			t.Errorf("%s: after three hours, drained, and with Force, the taint does not come", value)
		}
	}
}

// Pods that the scheduler has sent while the taint was off may still be on their way.
func TestTaintThatCameBackSettles(t *testing.T) {
	now := closedAt.Add(30 * time.Minute)
	t.Run("taken off by hand", func(t *testing.T) {
		pool := drainingPool(prior(5))
		node := begunDrain(t, pool)
		node.Taints = nil
		node = carry(node, decide(node, now, nil, pool))
		o := decide(node, now.Add(100*time.Millisecond), nil, pool)
		if !slices.Contains(taintsOf(node), "v:NoSchedule") || o.Drain == nil || !o.Drain.Settles(time.Time{}).After(now.Add(100*time.Millisecond)) {
			t.Errorf("it is back for 100 ms, and is believed to keep pods off since %v", o.Drain.Since)
		}
	})
	t.Run("a stronger pool let pods come", func(t *testing.T) {
		pool := drainingPool(prior(5))
		strong := waitingPool("strong", all(prior(9), tainted("s", corev1.TaintEffectNoSchedule)))
		node := begunDrain(t, pool)
		node = carry(node, decide(node, closedAt.Add(time.Minute), []string{"p"}, pool, strong))
		if !slices.Contains(taintsOf(node), "s:NoSchedule") {
			t.Fatal(taintsOf(node))
		}
		node = carry(node, decide(node, now, []string{"p"}, pool))
		o := decide(node, now.Add(100*time.Millisecond), nil, pool)
		if !slices.Contains(taintsOf(node), "v:NoSchedule") || o.Drain == nil || !o.Drain.Settles(time.Time{}).After(now.Add(100*time.Millisecond)) {
			t.Errorf("v is there for 100 ms, and is believed to keep pods off since %v", o.Drain.Since)
		}
	})
}

// Of three writes within a second, each one is later than the one before it.
func TestThreeWritesWithinASecond(t *testing.T) {
	taint, none := drainingPool(nil), drainingPool(func(p *v1.NodePool) { p.Spec.Taints = nil })
	node := followed(t, longAgo, waitingPool("p", labelled("1")))
	last := LastChangeOf(node)
	for i, pool := range []*v1.NodePool{taint, none, taint, none} {
		node = carry(node, decide(node, closedAt, []string{"p"}, pool))
		next := LastChangeOf(node)
		if !last.Behind(next) || next.Behind(last) {
			t.Errorf("write %d: %v (drains %d) is not behind %v (drains %d)", i, last.At, len(last.Drains), next.At, len(next.Drains))
		}
		last = next
	}
}

// A node that begins to be drained has begun to follow: that is a step.
func TestBeginOfDrainIsAStep(t *testing.T) {
	pool := drainingPool(all(prior(5), func(p *v1.NodePool) {
		p.Spec.Rollout.ProgressDeadline = &metav1.Duration{Duration: 30 * time.Minute}
		p.Spec.Rollout.MaxUnavailable = new(intstr.FromInt32(1))
	}))
	rollouts := RolloutsOf([]*v1.NodePool{pool})
	node := followed(t, longAgo, waitingPool("p", all(labelled("1"), prior(5))))
	node = carry(node, decide(node, closedAt, []string{"p"}, pool))
	now := closedAt.Add(5 * time.Minute)
	f := FollowerOf(node, decide(node, now, nil, pool), true)
	other := followed(t, longAgo, waitingPool("p", all(prior(5), labelled("1"))))
	other.Name = "o"
	waits := FollowerOf(other, decide(other, now, nil, pool), true)
	if stuck, is := rollouts.Turns(asking([]Follower{f, waits}), nil, now, true).Stuck["p"]; is {
		t.Errorf("a node has begun 5 minutes ago, and: %s", stuck)
	}
}

// What keeps pods off, and somebody takes off each second, is put back like anything else that
// is fought over, and nothing is written while that waits.
func TestTaintThatIsTakenOffAgainAndAgain(t *testing.T) {
	pool := drainingPool(prior(5))
	node, writes := begunDrain(t, pool), 0
	var repairs *Repairs
	for i := range 3600 {
		now := closedAt.Add(time.Duration(i) * time.Second)
		node = node.DeepCopy()
		node.Taints = nil
		o := NodeOutcomeOf(node, expand(pool), NodeFacts{Rollouts: RolloutsOf([]*v1.NodePool{pool}), Now: now, Backoff: DefaultRepairBackoff(), Repairs: repairs})
		if repairs = o.Admission.Written(now); !o.Admission.Plan.NoOp() {
			writes++
			if back := o.Admission.Plan.After(node); !slices.Contains(taintsOf(back), "v:NoSchedule") {
				t.Fatalf("after %s, a write does not put it back, but makes the record %s", now.Sub(closedAt), back.Annotations[v1.AppliedAnnotation])
			}
		}
		node = carry(node, o)
	}
	if writes < 10 || writes > 100 {
		t.Errorf("%d writes within an hour", writes)
	}
}
