package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

var (
	closedAt = time.Date(2026, time.November, 25, 12, 0, 0, 0, time.UTC)
	opensAt  = time.Date(2026, time.November, 26, 2, 0, 0, 0, time.UTC)
)

// nightly is a rollout that is closed at closedAt, and opens at opensAt.
func nightly() *v1.Rollout {
	return &v1.Rollout{Windows: []v1.Window{{Schedule: "0 2 * * *", Duration: metav1.Duration{Duration: time.Hour}}}}
}

// waitingPool is a pool of all nodes that was made, and changed, long ago.
func waitingPool(name string, change func(*v1.NodePool)) *v1.NodePool {
	pool := define(name, v1.NodePoolSpec{NodeNames: []string{"*"}})
	pool.CreationTimestamp = metav1.NewTime(closedAt.Add(-30 * 24 * time.Hour))
	if change != nil {
		change(pool)
	}
	return pool
}

// followed is a node that has followed pools, and was made some time before closedAt.
func followed(t *testing.T, age time.Duration, pools ...*v1.NodePool) *NodeState {
	t.Helper()
	node := newNode("n")
	node.Created = metav1.NewTime(closedAt.Add(-age))
	p, err := Node(node, expand(pools...))
	if err != nil {
		t.Fatal(err)
	}
	return p.After(node)
}

func labelled(value string) func(*v1.NodePool) {
	return func(pool *v1.NodePool) { pool.Spec.Labels = map[string]v1.LabelValue{key: v1.LabelValue(value)} }
}

func tainted(value string, effect corev1.TaintEffect) func(*v1.NodePool) {
	return func(pool *v1.NodePool) {
		pool.Spec.Taints = []v1.Taint{{Key: key, Value: value, Effect: effect}}
	}
}

func all(changes ...func(*v1.NodePool)) func(*v1.NodePool) {
	return func(pool *v1.NodePool) {
		for _, change := range changes {
			change(pool)
		}
	}
}

func closed(pool *v1.NodePool) { pool.Spec.Rollout = nightly() }

func prior(priority int32) func(*v1.NodePool) {
	return func(pool *v1.NodePool) { pool.Spec.Priority = priority }
}

func inside(parent string) func(*v1.NodePool) {
	return func(pool *v1.NodePool) { pool.Spec.Parent = parent }
}

func annotated(value string) func(*v1.NodePool) {
	return func(pool *v1.NodePool) {
		pool.Spec.Annotations = map[string]v1.AnnotationValue{key: v1.AnnotationValue(value)}
	}
}

func deletedAt(at time.Time) func(*v1.NodePool) {
	return func(pool *v1.NodePool) { pool.DeletionTimestamp = &metav1.Time{Time: at} }
}

func changedAt(at time.Time) func(*v1.NodePool) {
	return writtenAt(at, `{"f:spec":{"f:labels":{}}}`)
}

func writtenAt(at time.Time, fields string) func(*v1.NodePool) {
	return func(pool *v1.NodePool) {
		pool.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "somebody", Time: &metav1.Time{Time: at}, FieldsV1: metav1.NewFieldsV1(fields)}}
	}
}

func TestNodeWait(t *testing.T) {
	const long = 365 * 24 * time.Hour
	one := func(before, after func(*v1.NodePool)) [2][]*v1.NodePool {
		return [2][]*v1.NodePool{{waitingPool("p", before)}, {waitingPool("p", after)}}
	}
	cases := map[string]struct {
		reason string
		pools  [2][]*v1.NodePool // before and after
		age    time.Duration
		want   string // the pools that wait, and in brackets for what
	}{
		"label changes":       {"pods may select it", one(labelled("1"), all(labelled("2"), closed)), long, "p[p]"},
		"label goes":          {"the same", one(labelled("1"), closed), long, "p[p]"},
		"label comes":         {"no pod has selected it", one(nil, all(labelled("1"), closed)), long, ""},
		"taint comes":         {"pods would go", one(nil, all(tainted("1", corev1.TaintEffectNoExecute), closed)), long, "p[p]"},
		"taint changes":       {"the same", one(tainted("1", corev1.TaintEffectNoSchedule), all(tainted("2", corev1.TaintEffectNoSchedule), closed)), long, "p[p]"},
		"taint goes":          {"strangers would come", one(tainted("1", corev1.TaintEffectNoSchedule), closed), long, "p[p]"},
		"soft taint":          {"it keeps nobody off", one(nil, all(tainted("1", corev1.TaintEffectPreferNoSchedule), closed)), long, ""},
		"annotation":          {"the scheduler reads none", one(annotated("1"), all(annotated("2"), closed)), long, ""},
		"no rollout":          {"nothing waits", one(labelled("1"), labelled("2")), long, ""},
		"deleted":             {"to be released is a change", one(labelled("1"), all(labelled("1"), closed, deletedAt(closedAt))), long, "p[p]"},
		"within":              {"a pool around it is closed", [2][]*v1.NodePool{{waitingPool("p", all(labelled("1"), inside("around"))), waitingPool("around", closed)}, {waitingPool("p", all(labelled("2"), inside("around"), prior(9))), waitingPool("around", closed)}}, long, "p[around]"},
		"stronger is closed":  {"it is the rollout of all that it chooses", [2][]*v1.NodePool{{waitingPool("p", labelled("1"))}, {waitingPool("p", labelled("2")), waitingPool("fleet", all(prior(9), closed))}}, long, "p[fleet]"},
		"weaker is closed":    {"a pool keeps nothing of a stronger one off a node", [2][]*v1.NodePool{{waitingPool("p", labelled("1"))}, {waitingPool("p", labelled("2")), waitingPool("weak", all(prior(-9), closed))}}, long, ""},
		"both are closed":     {"all have to be open", [2][]*v1.NodePool{{waitingPool("p", labelled("1"))}, {waitingPool("p", all(labelled("2"), closed)), waitingPool("fleet", all(prior(9), closed))}}, long, "p[fleet p]"},
		"goes to a stronger":  {"the stronger one is free", [2][]*v1.NodePool{{waitingPool("p", labelled("1"))}, {waitingPool("p", all(labelled("1"), closed)), waitingPool("strong", all(prior(9), labelled("2")))}}, long, ""},
		"joins":               {"it has never been in use", [2][]*v1.NodePool{nil, {waitingPool("p", all(labelled("1"), tainted("1", corev1.TaintEffectNoExecute), closed))}}, time.Minute, ""},
		"clock was set back":  {"it is in use, and nobody knows when it has come", [2][]*v1.NodePool{{waitingPool("q", labelled("1"))}, {waitingPool("q", labelled("1")), waitingPool("p", all(tainted("1", corev1.TaintEffectNoExecute), closed))}}, -time.Hour, "p[p]"},
		"clock is far behind": {"it has never been in use", [2][]*v1.NodePool{nil, {waitingPool("p", all(labelled("1"), tainted("1", corev1.TaintEffectNoExecute), closed))}}, -time.Hour, ""},
		"clock is behind":     {"it comes just now", [2][]*v1.NodePool{nil, {waitingPool("p", all(labelled("1"), tainted("1", corev1.TaintEffectNoExecute), closed))}}, -time.Minute, ""},
		"joined long ago":     {"the controller was away, and the pool is older than the node", [2][]*v1.NodePool{nil, {waitingPool("p", all(tainted("1", corev1.TaintEffectNoExecute), closed))}}, 24 * time.Hour, ""},
		"pool is new":         {"it finds nodes that are in use", [2][]*v1.NodePool{nil, {waitingPool("p", all(tainted("1", corev1.TaintEffectNoExecute), closed, changedAt(closedAt.Add(-time.Hour))))}}, 24 * time.Hour, "p[p]"},
		"joins step by step":  {"its labels come one after the other", [2][]*v1.NodePool{{waitingPool("q", labelled("1"))}, {waitingPool("q", labelled("1")), waitingPool("p", all(tainted("1", corev1.TaintEffectNoExecute), closed))}}, time.Minute, ""},
		"young, pool changes": {"it is in use", [2][]*v1.NodePool{{waitingPool("p", tainted("1", corev1.TaintEffectNoExecute))}, {waitingPool("p", all(tainted("2", corev1.TaintEffectNoExecute), closed, changedAt(closedAt)))}}, time.Minute, "p[p]"},
		"agreed, one is free": {"a pool that wants the same value keeps it off no node", [2][]*v1.NodePool{nil, {waitingPool("z", all(tainted("1", corev1.TaintEffectNoSchedule), closed, changedAt(closedAt))), waitingPool("a", tainted("1", corev1.TaintEffectNoSchedule))}}, 2 * 365 * 24 * time.Hour, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			node := followed(t, c.age, c.pools[0]...)
			outcome := NodeOutcomeOf(node, expand(c.pools[1]...), NodeFacts{Rollouts: RolloutsOf(c.pools[1]), Now: closedAt})
			var got []string
			for _, wait := range outcome.Wait {
				got = append(got, wait.Pool+"["+strings.Join(wait.For, " ")+"]")
				if !wait.Next.Equal(opensAt) || !wait.Until.Equal(opensAt) {
					t.Errorf("%s waits until %v, want %v", wait.Pool, wait.Next, opensAt)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%q waits, want %q: %s", got, c.want, c.reason)
			}
			if then := NodeOutcomeOf(node, expand(c.pools[1]...), NodeFacts{Rollouts: RolloutsOf(c.pools[1]), Now: opensAt}); len(then.Wait) > 0 || !then.Plan.NoOp() && then.State != NodeStateChanging {
				t.Errorf("when it is open, the node is %s, and waits for %v", then.State, then.Wait)
			}
		})
	}
}

// A node moves whole for each pool, and for a pool that agrees on a value with one that
// waits, at once.
func TestHeldNode(t *testing.T) {
	taint := func(key string) v1.Taint { return v1.Taint{Key: key, Value: "1", Effect: corev1.TaintEffectNoSchedule} }
	before := []*v1.NodePool{waitingPool("p", labelled("1")), waitingPool("q", annotated("1"))}
	after := []*v1.NodePool{
		waitingPool("p", all(labelled("2"), closed, func(pool *v1.NodePool) {
			pool.Spec.Annotations = map[string]v1.AnnotationValue{"of-p": "new"}
			pool.Spec.Labels["also"] = "new"
			pool.Spec.ConflictPolicy = v1.Adopt // named as the owner of what it agrees on
			pool.Spec.Taints = []v1.Taint{taint("of-both"), taint("of-p")}
		})),
		waitingPool("q", all(annotated("2"), func(pool *v1.NodePool) { pool.Spec.Priority = 1 })),
		waitingPool("r", func(pool *v1.NodePool) {
			pool.CreationTimestamp = metav1.NewTime(closedAt.Add(-60 * 24 * time.Hour))
			pool.Spec.Taints = []v1.Taint{taint("of-both")}
		}),
	}
	node := followed(t, 365*24*time.Hour, before...)
	node.Labels[key] = "by hand"
	outcome := NodeOutcomeOf(node, expand(after...), NodeFacts{Rollouts: RolloutsOf(after), Now: closedAt})
	if outcome.State != NodeStateChanging || outcome.Wait.Of("p") == nil || len(outcome.Wait) != 1 {
		t.Fatalf("the node is %s, and waits for %v", outcome.State, outcome.Wait)
	}
	node = outcome.Admission.Plan.After(node)
	if node.Labels[key] != "1" || node.Labels["also"] != "" || node.Annotations["of-p"] != "" {
		t.Errorf("a pool that waits has got: %v %v; want what was changed by hand put back, and no more", node.Labels, node.Annotations)
	}
	if node.Annotations[key] != "2" {
		t.Error("the stronger pool does not move")
	}
	if len(node.Taints) != 1 || node.Taints[0].Key != "of-both" {
		t.Errorf("the taints are %v, want the one on which a free pool agrees", node.Taints)
	}
	record, err := readRecord(node)
	if err != nil || record.Taints[render.TaintID{Key: "of-both", Effect: corev1.TaintEffectNoSchedule}].Pool != "r" {
		t.Errorf("the record says %v (%v), want the taint as of the pool that is free", record, err)
	}
	again := NodeOutcomeOf(node, expand(after...), NodeFacts{Rollouts: RolloutsOf(after), Now: closedAt})
	if again.State != NodeStateWaiting || !again.Admission.Plan.NoOp() {
		t.Errorf("the node is %s, want it to wait, and nothing written", again.State)
	}
}

// TestWaitProperties: whatever pools are closed, a node that waits gets nothing disruptive
// of them, and all of whoever is free; a second pass writes nothing; and when they are
// open, the node is as if it had never waited.
func TestWaitProperties(t *testing.T) {
	s, waited, moved := newServer(), 0, 0
	for seed := range uint64(worlds) {
		w := newWorld(seed)
		w.node.Created = metav1.NewTime(closedAt.Add(-365 * 24 * time.Hour))
		w.live(t, s, false, func(step) {})
		for range 3 {
			w.changePools()
			pools := w.rollouts()
			expansion, rollouts := expand(pools...), RolloutsOf(pools)
			full, err := Node(w.node, expansion)
			if err != nil {
				t.Fatal(err)
			}
			outcome := NodeOutcomeOf(w.node, expansion, NodeFacts{Rollouts: rollouts, Now: closedAt})
			if len(outcome.Wait) > 0 {
				waited++
				if !outcome.Admission.Plan.NoOp() {
					moved++
				}
				if full.step != nil {
					waitsWhole(t, outcome, full.step)
				} else {
					waitsWhole(t, outcome, full)
				}
				direct, _ := s.write(t, w.node, expansion)
				passes := 1
				for !outcome.Admission.Plan.NoOp() && passes < 5 {
					w.node = w.writeHeld(t, s, outcome)
					outcome = NodeOutcomeOf(w.node, expansion, NodeFacts{Rollouts: rollouts, Now: closedAt})
					passes++
				}
				stepwise := full.step != nil || full.unsettled
				if passes > 2 && !stepwise || passes == 5 {
					t.Errorf("it takes %d passes until nothing is written", passes)
				}
				w.node, _ = s.write(t, w.node, expansion)
				if diff := cmp.Diff(standing(direct), standing(w.node)); diff != "" && !stepwise {
					t.Errorf("the node is another one for having waited (-direct +waited):\n%s", diff)
				}
			}
			w.node, _ = s.write(t, w.node, expansion)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d nodes waited, %d of them had something to write all the same", waited, moved)
	if waited < worlds/4 || moved < worlds/50 {
		t.Errorf("only %d nodes waited, and %d had something to write", waited, moved)
	}
}

// writeHeld carries out what may be written of an outcome.
func (w *world) writeHeld(t *testing.T, s server, outcome NodeOutcome) *NodeState {
	t.Helper()
	if outcome.Admission.Plan.NoOp() {
		return w.node
	}
	patch, err := outcome.Admission.Plan.Patch(w.node)
	if err != nil {
		t.Fatal(err)
	}
	return s.send(t, w.node, patch)
}

// waitsWhole: what a plan changes for a pool that waits is nothing but repair, and what it
// changes for one that has nothing to do with those that wait is what it always does.
func waitsWhole(t *testing.T, outcome NodeOutcome, full *NodePlan) {
	t.Helper()
	got := outcome.Admission.Plan.Changes
	for _, change := range got {
		if outcome.Wait.Of(change.Pool) != nil && !change.Drift {
			t.Errorf("%s %s changes for pool %s, which waits", change.Field, change.Key, change.Pool)
		}
	}
	recorded := entries(full.Recorded())
	for _, change := range full.Changes {
		entry, ours := recorded[change.Field][change.Key]
		concerned := outcome.Wait.Of(change.Pool) != nil || ours && outcome.Wait.Of(entry.Pool) != nil
		if !concerned && !slices.ContainsFunc(got, func(c KeyChange) bool { return c.Field == change.Field && c.Key == change.Key }) {
			t.Errorf("%s %s does not change for pool %s, which is free", change.Field, change.Key, change.Pool)
		}
	}
}

// rollouts are the pools of the world, some of which are closed.
func (w *world) rollouts() []*v1.NodePool {
	var pools []*v1.NodePool
	for _, name := range worldPools {
		if pool, found := w.pools[name]; found {
			pool = pool.DeepCopy()
			pool.CreationTimestamp = metav1.NewTime(closedAt.Add(-time.Hour))
			if w.oneIn(2) {
				closed(pool)
			}
			pools = append(pools, pool)
		}
	}
	return pools
}
