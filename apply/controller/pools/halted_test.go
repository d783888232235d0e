package pools

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/apply/plan"
)

// A restore of a backup that wipes the status of a halted pool leads to a pass, which puts
// back the halt: a new leader reads it there.
func TestWipedHaltIsPutBack(t *testing.T) {
	halted := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p", Generation: 1, ResourceVersion: "1"}}
	halted.Status.Rollout = &v1.RolloutStatus{Halt: (&plan.Halt{Time: time.Now(), Changes: []string{"abcdef"}, Nodes: 1, Node: "a"}).Status()}
	wiped := halted.DeepCopy()
	wiped.Status, wiped.ResourceVersion = v1.NodePoolStatus{}, "2"
	if !changedOtherwise.Update(event.UpdateEvent{ObjectOld: halted, ObjectNew: wiped}) {
		t.Error("the halt is wiped from the status, and no pass is due that puts it back")
	}
}

// A pool that waits for a halted one says so after a restart, too: before the fleet knows, by
// the status of the other pool.
func TestHaltOfAnotherPoolOutlastsARestart(t *testing.T) {
	one := intstr.FromInt32(1)
	boss := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "fleet", UID: "fleet", Generation: 1}}
	boss.Spec.NodeNames, boss.Spec.Priority, boss.Spec.Rollout = []string{"*"}, 100, &v1.Rollout{MaxUnavailable: &one}
	v1.SetNodePoolDefaults(boss)
	boss.Status.Rollout = &v1.RolloutStatus{Halt: (&plan.Halt{Time: time.Now(), Changes: []string{"abcdef"}, Nodes: 1, Node: "a"}).Status()}
	boss.Status.Accepted = plan.AcceptedSpecOf(boss)
	c := &racing{pool: boss}
	view := fleet.New(c, nodecache.Live(c))
	pools, err := view.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := New(rw{c}, view, events.NewFakeRecorder(99))
	counts := fleet.Counts{Waits: map[plan.PoolWait]int{{Pool: "gpu", Restriction: &plan.Restriction{For: []string{"fleet"}, Turn: true}}: 1}}
	gpu := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "gpu", UID: "gpu", Generation: 1}}
	if facts := r.turnsOf(gpu, pools, counts); !facts.halts["fleet"].Holds() {
		t.Error("fleet is halted by its status, gpu waits for it and was Stalled; after a restart gpu writes that it is not, and that it is")
	}
	if facts := r.turnsOf(boss, pools, fleet.Counts{}); !facts.halts["fleet"].Holds() {
		t.Error("fleet itself forgets it")
	}
}
