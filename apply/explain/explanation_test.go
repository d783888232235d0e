package explain_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/explain"
	"github.com/nodepools/nodepools/apply/plan"
)

// gpuPool labels the nodes of the role gpu.
func gpuPool(policy v1.ConflictPolicy) *v1.NodePool {
	return &v1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu", UID: "u1", Finalizers: []string{v1.ReleaseFinalizer}},
		Spec:       v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"tier": "gold"}, ConflictPolicy: policy},
	}
}

func gpuNode(labels map[string]string) *plan.NodeState {
	node := &plan.NodeState{Name: "n", Labels: map[string]string{v1.RoleLabel("gpu"): ""}}
	for key, value := range labels {
		node.Labels[key] = value
	}
	return node
}

// applied is a node with what the pools want of it.
func applied(t *testing.T, node *plan.NodeState, pools ...*v1.NodePool) *plan.NodeState {
	t.Helper()
	p, err := plan.Node(node, plan.Expand(pools, nil))
	if err != nil {
		t.Fatal(err)
	}
	return p.After(node)
}

// What is said of one key of a node, and of its pool.
func TestNode(t *testing.T) {
	gpu, taking := gpuPool(""), gpuPool(v1.TakeOver)
	paused := gpu.DeepCopy()
	paused.Annotations = map[string]string{v1.ReconcileAnnotation: v1.Disabled}
	orphan := gpu.DeepCopy()
	orphan.Spec.Parent = "nowhere"
	byHand := applied(t, gpuNode(nil), gpu)
	byHand.Labels["tier"] = "iron"
	cases := map[string]struct {
		reason string
		node   *plan.NodeState
		pool   *v1.NodePool // nil where there is none
		state  explain.State
		owner  plan.Owner
		due    explain.Due
	}{
		"new":       {"the pool wants it, and nobody has set it", gpuNode(nil), gpu, explain.Active, plan.OfPool, explain.Add},
		"settled":   {"nothing is to be written", applied(t, gpuNode(nil), gpu), gpu, explain.Active, plan.OfPool, ""},
		"shared":    {"somebody else has set the same value", gpuNode(map[string]string{"tier": "gold"}), gpu, explain.Active, plan.Shared, ""},
		"conflict":  {"somebody else has set another value", gpuNode(map[string]string{"tier": "iron"}), gpu, explain.Active, plan.OfOthers, ""},
		"take-over": {"the pool may replace the value of somebody else", gpuNode(map[string]string{"tier": "iron"}), taking, explain.Active, plan.OfPool, explain.TakeOver},
		"by hand":   {"what somebody has changed is put back", byHand, gpu, explain.Active, plan.OfPool, explain.PutBack},
		"gone":      {"nothing is released of a pool that was not deleted", applied(t, gpuNode(nil), gpu), nil, explain.Gone, plan.OfPool, ""},
		"paused":    {"a paused pool changes nothing", applied(t, gpuNode(nil), gpu), paused, explain.Paused, plan.OfPool, ""},
		"in error":  {"a pool without its parent keeps what it has set", applied(t, gpuNode(nil), gpu), orphan, explain.Failed, plan.OfPool, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var pools []*v1.NodePool
			if c.pool != nil {
				pools = append(pools, c.pool)
			}
			e := explain.Node(c.node, pools, time.Time{})
			if e.Err() != nil || len(e.Pools) != 1 || e.Pools[0].State != c.state {
				t.Errorf("pools are %+v, want one that is %s: %s", e.Pools, c.state, c.reason)
			}
			for _, key := range e.Keys {
				if key.Key != "tier" {
					continue
				}
				if key.Owner != c.owner || key.Due != c.due {
					t.Errorf("the key is of %s, and due is %q; want %s and %q: %s", key.Owner, key.Due, c.owner, c.due, c.reason)
				}
				return
			}
			t.Error("nothing is said of the key")
		})
	}
}

// Of a node whose record cannot be read it is said why, and that of no key the owner is
// known.
func TestNodeWithoutARecord(t *testing.T) {
	node := gpuNode(map[string]string{"tier": "gold"})
	node.Annotations = map[string]string{v1.AppliedAnnotation: "{"}
	e := explain.Node(node, []*v1.NodePool{gpuPool("")}, time.Time{})
	if e.Err() == nil || e.Problem == "" || e.Record != nil {
		t.Errorf("the problem is %q, and the record %v", e.Problem, e.Record)
	}
	var text bytes.Buffer
	if err := e.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "\nWhose these are nobody can tell without the record\n") {
		t.Errorf("it is written as:\n%s", text.String())
	}
}

// The text of a settled node.
func TestWriteText(t *testing.T) {
	var text bytes.Buffer
	gpu := gpuPool("")
	if err := explain.Node(applied(t, gpuNode(nil), gpu), []*v1.NodePool{gpu}, time.Time{}).WriteText(&text); err != nil {
		t.Fatal(err)
	}
	const want = `Node n is in pool gpu

Pool gpu
  made by hand
  members by label node-role.kubernetes.io/gpu
    label  tier=gold

Somebody else's
    label  node-role.kubernetes.io/gpu=""

The record of what pools have put here, annotation nodes.lailin.xyz/applied
  gpu  label  tier=gold
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A node that does not follow its pool yet: what stands there, what becomes of it, why not
// now and until when; what does not wait is due.
func TestNodeThatWaits(t *testing.T) {
	long, now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	gpu := gpuPool("")
	gpu.CreationTimestamp = metav1.NewTime(long)
	gpu.Spec.Labels["gone"], gpu.Spec.Labels["same"] = "1", "1"
	node := applied(t, gpuNode(nil), gpu)
	node.Created = metav1.NewTime(long)
	delete(node.Labels, "same")
	gpu.Spec.Labels = map[string]v1.LabelValue{"tier": "silver", "same": "1", "new": "1"}
	gpu.Spec.Taints = []v1.Taint{{Key: "dedicated", Value: "gpu", Effect: "NoSchedule"}}
	gpu.Spec.Rollout = &v1.Rollout{Windows: []v1.Window{{Schedule: "0 2 * * *", Duration: metav1.Duration{Duration: time.Hour}}}}
	e := explain.Node(node, []*v1.NodePool{gpu}, now)
	type state struct {
		Due   explain.Due
		Waits bool
		Later string
	}
	got := map[string]state{}
	for _, key := range e.Keys {
		if key.Pool != "gpu" || key.Owner != plan.OfPool || key.Key == v1.RoleLabel("gpu") {
			continue
		}
		later := ""
		if key.Later != nil {
			later = *key.Later
		}
		got[key.Key] = state{key.Due, key.Waits, later}
	}
	want := map[string]state{
		"tier": {"", true, "silver"}, "gone": {"", true, ""}, "same": {explain.PutBack, false, ""}, "new": {"", true, "1"},
		"dedicated:NoSchedule": {"", true, "gpu"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	wait := e.Pools[0].Wait
	if wait == nil || !cmp.Equal(wait.For, []string{"gpu"}) || wait.NextWindow == nil || !wait.NextWindow.Time.Equal(now.Add(14*time.Hour)) {
		t.Fatalf("the wait is %+v", wait)
	}
	var text bytes.Buffer
	if err := e.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	const says = `Node n is in pool gpu; 1 change due, 4 changes waiting
Marked + - ~ is what 'nodepools run' puts there, takes away, changes next.

Pool gpu
  made by hand
  members by label node-role.kubernetes.io/gpu
  its changes wait: outside the windows of pool "gpu"; the next opening is
    2026-11-26T02:00:00Z
    label  gone=1  (waits to go)
    label  new=1  (waits to come)
  + label  same=1  (taken away by somebody; put back)
    label  tier=gold  (waits to become silver)
    taint  dedicated=gpu:NoSchedule  (waits to come)
`
	if !strings.HasPrefix(text.String(), says) {
		t.Errorf("it says\n%s\nwant\n%s", text.String(), says)
	}
	if e := explain.Node(node, []*v1.NodePool{gpu}, now.Add(14*time.Hour)); e.Pools[0].Wait != nil {
		t.Errorf("in a window the wait is %+v", e.Pools[0].Wait)
	}
	gpu.Spec.Rollout = &v1.Rollout{MaxUnavailable: new(intstr.FromInt32(1))}
	gpu.Status.Rollout = &v1.RolloutStatus{Halt: &v1.RolloutHalt{Time: metav1.NewTime(now), Changes: "abcdef", Nodes: 1, Node: "other"}}
	for resumed, says := range map[bool]string{
		false: `nodes take turns in the rollout of pool "gpu"; the rollout of pool "gpu" is halted since 2026-11-25T12:00:00Z, as node other is not ready after it has followed`,
		true:  `nodes take turns in the rollout of pool "gpu"`,
	} {
		gpu.Status.Rollout.Halt.Resumed = resumed
		if wait := explain.Node(node, []*v1.NodePool{gpu}, now).Pools[0].Wait; wait == nil || wait.Message != says {
			t.Errorf("halted, and resumed: %t, the wait is %+v", resumed, wait)
		}
	}
}

// A take-over that waits is not one yet: the value is somebody else's.
func TestNodeSaysWhatItHasFollowed(t *testing.T) {
	gpu := gpuPool("")
	node := applied(t, gpuNode(nil), gpu)
	record, found := strings.CutPrefix(strings.TrimSuffix(node.Annotations[v1.AppliedAnnotation], "}"), `{"version":1`)
	if !found {
		t.Fatal(node.Annotations)
	}
	for change, says := range map[string]string{
		`{"spec":"3fa2c1","commit":"9a41c07d2be5"}`: "last followed at 2026-11-25T02:00:07Z, commit 9a41c07d2be5\n",
		`{"spec":"3fa2c1"}`:                         "last followed at 2026-11-25T02:00:07Z\n",
	} {
		node.Annotations[v1.AppliedAnnotation] = `{"version":1` + record + `,"change":{"at":"2026-11-25T02:00:07Z","pools":{"gpu":` + change + `}}}`
		var text bytes.Buffer
		if err := explain.Node(node, []*v1.NodePool{gpu}, time.Now()).WriteText(&text); err != nil || !strings.Contains(text.String(), "  "+says) {
			t.Errorf("of %s it says\n%s\nwant %q; %v", change, text.String(), says, err)
		}
	}
}

func TestTakeOverThatWaits(t *testing.T) {
	long, now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	gpu := gpuPool(v1.TakeOver)
	gpu.CreationTimestamp = metav1.NewTime(long.Add(time.Hour))
	gpu.Spec.Rollout = &v1.Rollout{Windows: []v1.Window{{Schedule: "0 2 * * *", Duration: metav1.Duration{Duration: time.Hour}}}}
	node := gpuNode(map[string]string{"tier": "iron"})
	node.Created = metav1.NewTime(long)
	var text bytes.Buffer
	if err := explain.Node(node, []*v1.NodePool{gpu}, now).WriteText(&text); err != nil {
		t.Fatal(err)
	}
	const says = "  label  tier=iron  (set by somebody else; waits to become gold)\n"
	if !strings.Contains(text.String(), says) {
		t.Errorf("it says\n%s\nwant\n%s", text.String(), says)
	}
}

// A node that uses up the budget of its pool is told why: it does not meet a condition, is
// cordoned, or settles.
func TestNodeThatUsesUpABudget(t *testing.T) {
	gpu := gpuPool("")
	gpu.Spec.Rollout = &v1.Rollout{MaxUnavailable: new(intstr.FromInt32(1)), NodeConditions: []v1.NodeCondition{{Type: "GPUHealthy"}}}
	for _, c := range []struct {
		conditions string
		cordoned   bool
		want       string
	}{
		{"GPUHealthy=True", false, ""},
		{"", false, "has no condition GPUHealthy"},
		{"GPUHealthy=Unknown", true, "has condition GPUHealthy=Unknown"},
		{"GPUHealthy=True", true, "is cordoned"},
	} {
		node := applied(t, gpuNode(nil), gpu)
		node.Conditions, node.Unschedulable = plan.ParseConditions(c.conditions), c.cordoned
		e := explain.Node(node, []*v1.NodePool{gpu}, time.Time{})
		var written bytes.Buffer
		if err := e.WriteText(&written); err != nil {
			t.Fatal(err)
		}
		says, words := "the node counts as unavailable in its rollout: it "+c.want+" ", strings.Join(strings.Fields(written.String()), " ")
		if e.Pools[0].Unavailable != c.want || strings.Contains(words, says) != (c.want != "") {
			t.Errorf("of a node with %q, cordoned: %t, it is said %q, and written:\n%s", c.conditions, c.cordoned, e.Pools[0].Unavailable, &written)
		}
	}
}

// A node that waits for its turn is told which other node uses up the budget, by the status of
// the pool.
func TestNodeThatWaitsForABudget(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	const waits = `nodes take turns in the rollout of pool "gpu"`
	for want, status := range map[string]v1.NodePoolStatus{
		waits + "; node other is cordoned": {ObservedGeneration: 2},
		waits:                              {ObservedGeneration: 1},
	} {
		gpu := gpuPool("")
		node := applied(t, gpuNode(nil), gpu)
		node.Created = metav1.NewTime(now.AddDate(-1, 0, 0))
		gpu.Generation, gpu.Status = 2, status
		gpu.Spec.Labels["tier"] = "silver"
		gpu.Spec.Rollout = &v1.Rollout{MaxUnavailable: new(intstr.FromInt32(1))}
		gpu.Status.Accepted = plan.AcceptedSpecOf(gpu)
		gpu.Status.Conditions = []metav1.Condition{{
			Type: v1.ReconcilingCondition, Status: metav1.ConditionTrue, Reason: v1.WaitingForBudgetReason,
			Message: "0 of 2 nodes up to date; 2 nodes wait: " + waits + "; node other is cordoned",
		}}
		if wait := explain.Node(node, []*v1.NodePool{gpu}, now).Pools[0].Wait; wait == nil || wait.Message != want {
			t.Errorf("generation %d of 2 is observed: the wait is %+v, want %q", status.ObservedGeneration, wait, want)
		}
	}
}
