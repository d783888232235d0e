package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

const gpuHealthy = "GPUHealthy"

// naming has the rollout of a pool name conditions: a type that has to be True, or Type=Status.
func naming(conditions ...string) func(*v1.NodePool) {
	return func(pool *v1.NodePool) {
		for _, condition := range conditions {
			kind, status, _ := strings.Cut(condition, "=")
			pool.Spec.Rollout.NodeConditions = append(pool.Spec.Rollout.NodeConditions, v1.NodeCondition{Type: kind, Status: corev1.ConditionStatus(status)})
		}
	}
}

func conditions(texts ...string) []corev1.NodeCondition {
	var all []corev1.NodeCondition
	for _, text := range texts {
		kind, status, _ := strings.Cut(text, "=")
		all = append(all, corev1.NodeCondition{Type: corev1.NodeConditionType(kind), Status: corev1.ConditionStatus(status), LastHeartbeatTime: metav1.Now()})
	}
	return all
}

// What is kept of the conditions of a node is the same for the same types and statuses, and
// can be read again, whatever somebody has written there.
func TestConditionsOf(t *testing.T) {
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("C%02d=True", i))
	}
	cases := map[string]struct {
		reason     string
		conditions []string
		want       string
	}{
		"sorted":             {"in whatever order they come", []string{"b=False", "Ready=True", "a.example.com/x=True"}, "a.example.com/x=True,b=False"},
		"none":               {"Ready is kept apart", []string{"Ready=True"}, ""},
		"another status":     {"it is not known what it means", []string{"a=Maybe", "b="}, "a=Unknown,b=Unknown"},
		"twice":              {"the first one counts, as for Ready", []string{"a=False", "a=True"}, "a=False"},
		"of other letters":   {"no pool can name them", []string{"a,b=True", "a b=True", "ä=True", "=True", strings.Repeat("a", 400) + "=True", "ok=True"}, "ok=True"},
		"more than are kept": {"a kubelet can write any number", many, strings.Join(many[:maxConditions], ",")},
	}
	for name, c := range cases {
		got := ConditionsOf(conditions(c.conditions...))
		if got.String() != c.want || !got.Known() || ParseConditions(got.String()) != got {
			t.Errorf("%s: kept are %q, want %q: %s", name, got, c.want, c.reason)
		}
	}
	if ConditionsOf(nil).Known() {
		t.Error("nobody has reported on a node, and its conditions are known")
	}
}

// A node that does not meet a condition counts as unavailable to the pool that names it, and
// to no other, and does not begin.
func TestNodesMeetConditionsToBegin(t *testing.T) {
	health, plain := all(labelled("2"), limited("1", time.Minute), naming(gpuHealthy)), all(labelled("2"), limited("1", time.Minute))
	several := all(labelled("2"), limited("1", time.Minute), naming("DiskPressure=False", gpuHealthy))
	for name, c := range map[string]struct {
		reason string
		pool   func(*v1.NodePool)
		a      []string // the conditions of the first node; the other has what the pool wants
		turns  string
		unmet  string
	}{
		"met":             {"in the order of names", health, []string{"GPUHealthy=True"}, "a", ""},
		"False":           {"it counts, and no other may be unavailable with it", health, []string{"GPUHealthy=False"}, "", "node a has condition GPUHealthy=False"},
		"Unknown":         {"it is not True", health, []string{"GPUHealthy=Unknown"}, "", "node a has condition GPUHealthy=Unknown"},
		"absent":          {"nothing reports it on this node", health, []string{"DiskPressure=False"}, "", "node a has no condition GPUHealthy"},
		"not known":       {"an inventory does not have it", health, nil, "a", ""},
		"named by no one": {"it makes no difference", plain, []string{"GPUHealthy=False"}, "a", ""},
		"one of two":      {"all of them have to be met", several, []string{"DiskPressure=True", "GPUHealthy=True"}, "", "node a has condition DiskPressure=True"},
		"both":            {"another status than True is met", several, []string{"DiskPressure=False", "GPUHealthy=True"}, "a", ""},
	} {
		pools := []*v1.NodePool{waitingPool("p", c.pool)}
		a, b := followed(t, 365*24*time.Hour, waitingPool("p", labelled("1"))), followed(t, 365*24*time.Hour, waitingPool("p", labelled("1")))
		a.Name, b.Name, b.Conditions = "a", "b", ConditionsOf(conditions("DiskPressure=False", "GPUHealthy=True"))
		if c.a != nil {
			a.Conditions = ConditionsOf(conditions(c.a...))
		}
		turns := turnsOfNodes(pools, a, b)
		if got := strings.Join(slices.Sorted(maps.Keys(turns.Nodes)), " "); got != c.turns {
			t.Errorf("%s: it is the turn of %q, want %q: %s", name, got, c.turns, c.reason)
		}
		unmet := ""
		if found, some := turns.Unavailable["p"]; some {
			unmet = found.String()
		}
		if unmet != c.unmet {
			t.Errorf("%s: it is said %q, want %q", name, unmet, c.unmet)
		}
	}
}

// turnsOfNodes are the turns of nodes by their outcomes.
func turnsOfNodes(pools []*v1.NodePool, nodes ...*NodeState) Turns {
	rollouts := RolloutsOf(pools)
	var followers []Follower
	for _, node := range nodes {
		followers = append(followers, FollowerOf(node, NodeOutcomeOf(node, expand(pools...), NodeFacts{Rollouts: rollouts, Now: closedAt}), true))
	}
	return rollouts.Turns(asking(followers), nil, closedAt, true)
}

// Each pool goes by its own conditions: one that names none has its budget as before, also
// where a node is in both.
func TestConditionsCountByPool(t *testing.T) {
	pools := []*v1.NodePool{
		waitingPool("fleet", all(prior(1), limited("1", time.Minute))),
		waitingPool("weak", all(prior(-1), limited("1", time.Minute), naming(gpuHealthy))),
		waitingPool("p", labelled("2")),
	}
	before := []*v1.NodePool{waitingPool("fleet", prior(1)), waitingPool("weak", prior(-1)), waitingPool("p", labelled("1"))}
	a, b := followed(t, 365*24*time.Hour, before...), followed(t, 365*24*time.Hour, before...)
	a.Name, b.Name = "a", "b"
	a.Conditions, b.Conditions = ConditionsOf(conditions("GPUHealthy=False")), ConditionsOf(conditions("GPUHealthy=True"))
	if turns := turnsOfNodes(pools, a, b); !slices.Contains(turns.Nodes["a"].Pools(), "p") || len(turns.Nodes) > 1 {
		t.Errorf("it is the turn of %v; what a weaker pool names keeps no node from following a stronger one", turns.Nodes)
	}
	rollouts := RolloutsOf(pools)
	o := NodeOutcomeOf(a, expand(pools...), NodeFacts{Rollouts: rollouts, Turn: turnFor("p"), Now: closedAt})
	if followed := o.Admission.Plan.Record.Change.Pools["p"]; !o.Begins || followed.Unready {
		t.Errorf("the record says %+v: the condition of a weaker pool excuses no failure", followed)
	}
	pools[1].Spec.Priority = 2
	o = NodeOutcomeOf(a, expand(pools...), NodeFacts{Rollouts: RolloutsOf(pools), Turn: turnFor("p", "weak"), Now: closedAt})
	if followed := o.Admission.Plan.Record.Change.Pools["p"]; !o.Begins || !followed.Unready {
		t.Errorf("the record says %+v of a node that did not meet the condition when it began", followed)
	}
}

// A node that has followed and meets a condition no longer has failed, as one that is not
// ready has.
func TestConditionHaltsARollout(t *testing.T) {
	lacks := func(pool string) func([]Follower) {
		return func(nodes []Follower) { nodes[0].Unmet = map[string]string{pool: "has condition GPUHealthy=False"} }
	}
	for name, c := range map[string]struct {
		change func([]Follower)
		says   string // nothing where it is not halted
	}{
		"met":                    {nil, ""},
		"not met":                {lacks("p"), "since 2026-11-25T12:00:00Z, as node a has condition GPUHealthy=False after it has followed"},
		"not met, and not ready": {func(n []Follower) { lacks("p")(n); n[0].Unready, n[0].Unavailable = true, true }, "since 2026-11-25T12:00:00Z, as node a is not ready after it has followed"},
		"of another pool":        {lacks("q"), ""},
		"it did not when it began": {func(n []Follower) {
			lacks("p")(n)
			n[0].Change.Pools["p"] = FollowedPool{At: n[0].Change.At, Unready: true, Spec: n[0].Change.Pools["p"].Spec}
		}, ""},
		"one that has not followed": {func(n []Follower) { n[1].Unmet = map[string]string{"p": "has no condition GPUHealthy"} }, ""},
	} {
		pool, nodesOf := halting(naming(gpuHealthy))
		nodes := nodesOf(time.Minute, true)
		if c.change != nil {
			c.change(nodes)
		}
		halt := RolloutsOf([]*v1.NodePool{pool}).Turns(asking(nodes), nil, closedAt, true).Halts["p"]
		if halt.Holds() != (c.says != "") {
			t.Errorf("%s: halted is %t", name, halt.Holds())
			continue
		}
		if halt == nil {
			continue
		}
		if text := strings.ReplaceAll(halt.String(), describeMoment(closedAt), "2026-11-25T12:00:00Z"); text != c.says {
			t.Errorf("%s: it is halted %q, want %q", name, text, c.says)
		}
		pool.Status.Rollout = &v1.RolloutStatus{Halt: halt.Status()}
		if diff := cmp.Diff(halt, HaltOf(pool)); diff != "" {
			t.Errorf("%s, by the status (-halt +status):\n%s", name, diff)
		}
	}
}

// A node goes back to what it was before whatever the budget is where it does not meet the
// conditions of the pool; but not at the cost of the budget of a pool to which it is
// available.
func TestUnhealthyNodeGoesBack(t *testing.T) {
	for name, other := range map[string]func(*v1.NodePool){
		"the other names the condition": naming(gpuHealthy), "the other does not": func(*v1.NodePool) {},
	} {
		rollouts := RolloutsOf([]*v1.NodePool{waitingPool("p", all(limited("1", time.Minute), naming(gpuHealthy))), waitingPool("q", all(limited("1", time.Minute), other))})
		unmet := map[string]string{"p": "has condition GPUHealthy=False"}
		if name == "the other names the condition" {
			unmet["q"] = unmet["p"]
		}
		a := Follower{Name: "a", Pools: []string{"p", "q"}, Asks: back(asksFor("q")), Waits: []string{"q"}, Unmet: unmet}
		a.Change.At = closedAt.Add(-time.Hour)
		down := Follower{Name: "b", Pools: []string{"p", "q"}, Unready: true, Unavailable: true}
		if turns := rollouts.Turns(asking([]Follower{a, down}), nil, closedAt, true); (len(turns.Nodes) == 1) != (len(unmet) == 2) {
			t.Errorf("%s: it is the turn of %v", name, turns.Nodes)
		}
	}
}

// A preview goes by the conditions that nodes have now; of those that are not known it
// assumes that they are met, as it assumes that nodes are ready.
func TestScheduleGoesByConditions(t *testing.T) {
	pools := []*v1.NodePool{waitingPool("p", all(labelled("2"), limited("1", time.Minute), naming(gpuHealthy)))}
	for name, c := range map[string]struct {
		a     Conditions
		stays string
	}{
		"met":       {ConditionsOf(conditions("GPUHealthy=True")), ""},
		"not known": {"", ""},
		"not met":   {ConditionsOf(conditions("GPUHealthy=False")), `2 nodes do not follow: node "a" has condition GPUHealthy=False, which does not meet nodeConditions of pool "p"`},
	} {
		var nodes []*NodeState
		for _, name := range []string{"a", "b"} {
			node := followed(t, 365*24*time.Hour, waitingPool("p", labelled("1")))
			node.Name = name
			nodes = append(nodes, node)
		}
		nodes[0].Conditions = c.a
		schedules := newSchedules(newForesight(Cluster{Nodes: nodes}, expand(pools...), RolloutsOf(pools), closedAt)).foretell()
		if len(schedules) != 1 || schedules[0].Stays != c.stays {
			t.Errorf("%s: it is foretold %q, want %q", name, reportedSchedules(schedules), c.stays)
		}
	}
}

// A node that has followed and meets a condition no longer has failed when it is foretold, as it
// has when it happens: the halt is the same.
func TestScheduleHaltsByConditions(t *testing.T) {
	pool := func(value string, changes ...func(*v1.NodePool)) *v1.NodePool {
		p := waitingPool("p", all(append(changes, labelled(value))...))
		p.Generation = 1
		return p
	}
	before, after := pool("1"), pool("2", limited("2", 10*time.Minute), naming(gpuHealthy))
	w := &rolloutWorld{before: []*v1.NodePool{before}, after: []*v1.NodePool{after}, unready: map[string]bool{}}
	for _, name := range []string{"a", "b", "c", "d"} {
		node := followed(t, 365*24*time.Hour, before)
		node.Name, node.Conditions = name, ParseConditions("GPUHealthy=True")
		w.nodes = append(w.nodes, node)
	}
	s := newStepper(w)
	s.steps(closedAt, time.Minute)
	s.nodes["a"].Conditions = ParseConditions("GPUHealthy=False")
	cluster := Cluster{Pools: w.after}
	for _, name := range s.names {
		cluster.Nodes = append(cluster.Nodes, s.nodes[name])
	}
	now := closedAt.Add(time.Minute)
	schedules := newSchedules(newForesight(cluster, expand(after), RolloutsOf(w.after), now)).foretell()
	want := []string{"p: 2 nodes, 0 windows", "  [], stay: c d",
		` 2 nodes do not follow: the rollout of pool "p" is halted since 2026-11-25T12:01:00Z, as node a has condition GPUHealthy=False after it has followed`}
	if diff := cmp.Diff(want, reportedSchedules(schedules)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	s.minute(now)
	if diff := cmp.Diff(s.halts["p"], schedules[0].Halt); diff != "" || !schedules[0].Foretold {
		t.Errorf("the halt (-happens +foretold):\n%s", diff)
	}
}
