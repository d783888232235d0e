package pools

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/evict"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/apply/plan"
)

// Stranded pods are reported once, some time after the end of a change, be it that the change
// takes several updates of the RuntimeClass; a controller without the right reports nothing.
func TestStrandedPodsAreReportedAtTheEnd(t *testing.T) {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "gpu", UID: "gpu", Generation: 2}}
	pool.Spec.NodeNames, pool.Spec.Labels = []string{"*"}, map[string]v1.LabelValue{"tier": "new"}
	v1.SetNodePoolDefaults(pool)
	pool.Status.Accepted = plan.AcceptedSpecOf(pool)
	c := &racing{pool: pool}
	view := fleet.New(c, nodecache.Live(c))
	pools, err := view.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	class := func(labels map[string]string) *nodev1.RuntimeClass {
		labels[v1.RoleLabel("gpu")] = ""
		return &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: v1.RuntimeClassName("gpu")}, Scheduling: &nodev1.Scheduling{NodeSelector: labels}}
	}
	old, step, want := class(map[string]string{"tier": "old", "gone": "x"}), class(map[string]string{}), pools.Expansion.RuntimeClass("gpu")
	pod := plan.WaitingPod{Namespace: "team", Name: "train-0", PodScheduling: plan.PodScheduling{RuntimeClass: want.Name, NodeSelector: map[string]string{"gone": "x", "tier": "new", v1.RoleLabel("gpu"): ""}}}
	for name, right := range map[string]bool{"with the right": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			recorder, now, lists := events.NewFakeRecorder(9), time.Unix(1_700_000_000, 0), 0
			r := New(rw{c}, view, recorder).
				WithPods(func(context.Context, string) ([]plan.WaitingPod, error) {
					if lists++; lists == 1 {
						return nil, errors.New("the API server is away")
					}
					if !right {
						return nil, evict.ErrNoRights
					}
					return []plan.WaitingPod{pod}, nil
				})
			r.now = func() time.Time { return now }
			pass := func(change plan.RuntimeClassChange, ended bool, wantAgain time.Duration) {
				t.Helper()
				r.noteFormer("gpu", change)
				if again := r.strandedEvent(t.Context(), pool, pools, plan.PoolOutcome{RuntimeClass: &change}, ended); again != wantAgain {
					t.Errorf("comes back in %v, want %v", again, wantAgain)
				}
			}
			pass(plan.RuntimeClassChange{Action: plan.Update, Live: old, Want: step}, false, 0)
			pass(plan.RuntimeClassChange{Action: plan.None, Live: step, Want: step}, true, 0) // a step is no end
			pass(plan.RuntimeClassChange{Action: plan.Update, Live: step, Want: want}, true, strandedPeriod)
			now = now.Add(strandedPeriod)
			pass(plan.RuntimeClassChange{Action: plan.None, Live: want, Want: want}, true, failurePeriod)
			pass(plan.RuntimeClassChange{Action: plan.None, Live: want, Want: want}, true, 0)
			pass(plan.RuntimeClassChange{Action: plan.None, Live: want, Want: want}, true, 0)
			if lists != 2 || r.Kept() != 0 {
				t.Errorf("pods are listed %d times, want 2: at the end, and after an error; %d entries are kept", lists, r.Kept())
			}
			var notes []string
			for len(recorder.Events) > 0 {
				notes = append(notes, <-recorder.Events)
			}
			if got := strings.Join(notes, "\n"); right != strings.HasSuffix(got, "kubectl delete --namespace team pod/train-0") || len(notes) > 1 {
				t.Errorf("the events are %q", notes)
			}
		})
	}
}
