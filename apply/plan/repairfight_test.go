package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/render"
)

// fight is a node that a plan keeps right and somebody else keeps changing, at a
// time that the test says. It does with an [Admission] what the node loop does.
type fight struct {
	t       *testing.T
	s       server
	backoff RepairBackoff
	node    *NodeState
	pools   *render.Expansion
	known   *Repairs
	// now is the time since the start.
	now time.Duration
	// before is the node as it was before the last pass.
	before *NodeState
	// repaired has, by field and key, when it was put back.
	repaired map[repairKey][]time.Duration
}

// start is any time: what it is makes no difference.
var start = time.Date(2026, 3, 29, 1, 59, 0, 0, time.UTC)

func newFight(t *testing.T, s server, node *NodeState, pools *render.Expansion) *fight {
	f := &fight{t: t, s: s, backoff: DefaultRepairBackoff(), node: node, pools: pools, repaired: map[repairKey][]time.Duration{}}
	f.pass()
	return f
}

// become changes the pools.
func (f *fight) become(pools *render.Expansion) {
	f.pools = pools
}

// pass plans the node and writes what may be written.
func (f *fight) pass() (full, admitted *NodePlan) {
	f.t.Helper()
	full, err := Node(f.node, f.pools)
	if err != nil {
		f.t.Fatal(err)
	}
	a := f.backoff.Admit(f.node, full, f.known, start.Add(f.now))
	f.before, f.known = f.node, a.Written(start.Add(f.now))
	if a.Plan.NoOp() {
		return full, a.Plan
	}
	patch, err := a.Plan.Patch(f.node)
	if err != nil {
		f.t.Fatal(err)
	}
	f.node = f.s.send(f.t, f.node, patch)
	for _, change := range a.Plan.Changes {
		if !change.Drift {
			continue
		}
		id := repairKey{change.Field, change.Key}
		f.repaired[id] = append(f.repaired[id], f.now)
	}
	return full, a.Plan
}

// against lets somebody change the node whenever the plan is carried out in full,
// as fast as can be, for so many seconds.
func (f *fight) against(seconds int, change func(*NodeState)) {
	f.t.Helper()
	for range seconds {
		f.node = f.s.update(f.t, f.node, "readiness-controller", change)
		f.pass()
		f.node = f.s.update(f.t, f.node, "readiness-controller", change)
		f.pass()
		f.now += time.Second
	}
}

// quiet lets time pass until nothing more is due, and reports how long that took.
func (f *fight) quiet() time.Duration {
	f.t.Helper()
	began := f.now
	for range 100 {
		f.pass()
		next := f.backoff.Next(f.known)
		if next.IsZero() {
			return f.now - began
		}
		f.now = max(f.now, next.Sub(start))
	}
	f.t.Fatalf("after %v still something is due: %+v", f.now-began, f.known)
	return 0
}

var (
	otherTaint      = render.TaintID{Key: "other", Effect: corev1.TaintEffectNoSchedule}
	quarantineTaint = render.TaintID{Key: "quarantine", Effect: corev1.TaintEffectNoExecute}
)

// mustRead is the record of a node.
func mustRead(t *testing.T, node *NodeState) Record {
	t.Helper()
	record, err := readRecord(node)
	if err != nil {
		t.Fatal(err)
	}
	return record
}
