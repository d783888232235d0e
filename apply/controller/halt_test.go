package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/status"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// canaryWorld is a pool of nodes of which the first is the canary; moved are those that
// have followed it to a tier.
type canaryWorld struct {
	*world
	names []string
}

func newCanaryWorld(t *testing.T, names ...string) *canaryWorld {
	w := &canaryWorld{newWorld(t), names}
	for _, name := range names {
		labels := role("batch")
		labels[corev1.LabelHostname] = name
		w.node(name, labels)
	}
	w.isReadyNode(names...)
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: batch}
spec:
  labels: {example.com/tier: "1"}
  taints: [{key: example.com/tier, value: "1", effect: NoSchedule}]
`)
	w.isReady("batch", int32(len(names)))
	w.inUse(names...)
	return w
}

// commit changes the pool as a commit does.
func (w *canaryWorld) commit(tier string) {
	w.change("batch", func(pool *v1.NodePool) {
		pool.Spec.Labels["example.com/tier"] = v1.LabelValue(tier)
		pool.Spec.Taints[0].Value = tier
		pool.Spec.Rollout = &v1.Rollout{
			MaxUnavailable: new(intstr.FromInt32(1)),
			Waves:          []v1.Wave{{Name: "canary", Nodes: new(intstr.FromInt32(1)), Approval: v1.ApprovalRequired}},
		}
	})
}

func (w *canaryWorld) moved(tier string) (nodes []string) {
	for _, name := range w.names {
		if w.get(name).Labels["example.com/tier"] == tier {
			nodes = append(nodes, name)
		}
	}
	return nodes
}

// breaks makes a node not ready, or ready again, and waits for that.
func (w *canaryWorld) breaks(name string, broken bool) {
	w.t.Helper()
	w.changeNode(name, func(node *corev1.Node) {
		if node.Annotations == nil {
			node.Annotations = map[string]string{}
		}
		delete(node.Annotations, cluster.BrokenAnnotation)
		if broken {
			node.Annotations[cluster.BrokenAnnotation] = ""
		}
	})
	w.eventually(fmt.Sprintf("node %s is broken: %t", name, broken), func() error {
		for _, condition := range w.get(name).Status.Conditions {
			if condition.Type == corev1.NodeReady && (condition.Status != corev1.ConditionTrue) == broken {
				return nil
			}
		}
		return errors.New("not yet")
	})
}

func (w *canaryWorld) hasReason(kind, reason string, texts ...string) {
	w.t.Helper()
	w.poolIs("batch", reason, func(pool *v1.NodePool) error {
		for _, text := range texts {
			if message := readyMessageOf(pool); !strings.Contains(message, text) {
				return fmt.Errorf("the message is %q, want %q in it", message, text)
			}
		}
		return conditionIs(pool.Status.Conditions, kind, metav1.ConditionTrue, reason)
	})
}

func (w *canaryWorld) annotated(key, value string) {
	w.t.Helper()
	w.change("batch", func(pool *v1.NodePool) { pool.Annotations = map[string]string{key: value} })
}

// approval is the value that approves the wave after the canary, as the message has it.
func (w *canaryWorld) approval() (approval string) {
	w.t.Helper()
	w.poolIs("batch", "names the approval", func(pool *v1.NodePool) error {
		if !strings.HasSuffix(readyMessageOf(pool), "the next wave waits for an approval: nodepools approve batch") {
			return errors.New(readyMessageOf(pool))
		}
		act, err := w.act(status.Approve, "batch")
		if err == nil {
			approval = act.Set[v1.ApproveRolloutAnnotation]
		}
		return err
	})
	return approval
}

// A canary that fails halts the rollout. It stays halted when the canary is ready again,
// and over a restart; an approval, and what resumes another halt, do nothing. A revert
// brings back what was before, and the next commit begins with the canary again.
func TestFailedCanaryHaltsTheRollout(t *testing.T) {
	names := []string{"halt-a", "halt-b", "halt-c"}
	w := newCanaryWorld(t, names...)
	w.commit("2")
	approval := w.approval()
	w.breaks(names[0], true)
	w.hasReason(v1.StalledCondition, v1.RolloutHaltedReason, "1 of 3 nodes up to date", "the rollout of pool \"batch\" is halted", "node halt-a is not ready after it has followed",
		"go on in spite of it: nodepools resume batch")
	w.hasEvent("batch", v1.RolloutHaltedReason, "halt-a")
	halt := w.halt()
	if halt.Node != names[0] || halt.Nodes != 1 || halt.Resumed {
		t.Errorf("the status has %+v; the approval was %s", halt, approval)
	}

	w.breaks(names[0], false)
	w.annotated(v1.ApproveRolloutAnnotation, approval)
	w.stays(halt)
	w.stop()
	w.start()
	w.stays(halt)
	for _, value := range []string{approval, halt.Changes, halt.Changes + "/" + halt.Time.UTC().Format(time.RFC3339), "abcdef/" + halt.Time.UTC().Format(time.RFC3339)} {
		w.annotated(v1.ResumeRolloutAnnotation, value)
		w.stays(halt)
	}

	mark := w.mark()
	w.commit("1")
	w.isReady("batch", int32(len(names)))
	if moved := w.moved("1"); !slices.Equal(moved, names) {
		t.Errorf("reverted, %v have what was before", moved)
	}
	if writes, _ := w.nodeWrites(mark); len(writes) != 1 || writes[names[0]] != 1 {
		t.Errorf("the revert wrote %v, want the canary once", writes)
	}
	w.poolIs("batch", "is halted no more", func(pool *v1.NodePool) error {
		if pool.Status.Rollout != nil {
			return fmt.Errorf("status.rollout is %v", pool.Status.Rollout)
		}
		return nil
	})

	w.commit("3")
	if next := w.approval(); next == approval {
		t.Errorf("the approval of another change is %s again", next)
	}
	if moved := w.moved("3"); !slices.Equal(moved, names[:1]) {
		t.Errorf("of the next commit %v have moved, want the canary", moved)
	}
}

func (w *canaryWorld) halt() (halt *v1.RolloutHalt) {
	w.t.Helper()
	w.poolIs("batch", "has a halt", func(pool *v1.NodePool) error {
		if pool.Status.Rollout == nil || pool.Status.Rollout.Halt == nil {
			return fmt.Errorf("status.rollout is %v", pool.Status.Rollout)
		}
		halt = pool.Status.Rollout.Halt
		return nil
	})
	return halt
}

// stays makes sure that the rollout is halted as before, after the loops have looked at
// every node once more.
func (w *canaryWorld) stays(halt *v1.RolloutHalt) {
	w.t.Helper()
	w.settle()
	if now := w.halt(); *now != *halt {
		w.t.Errorf("the halt is %+v, want %+v", now, halt)
	}
	w.hasReason(v1.StalledCondition, v1.RolloutHaltedReason)
	if moved := w.moved("2"); !slices.Equal(moved, w.names[:1]) {
		w.t.Errorf("the rollout is halted, and %v have moved", moved)
	}
}
