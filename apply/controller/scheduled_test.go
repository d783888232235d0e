package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// moments are pods that name the RuntimeClass of pool batch, made one after the other.
type moments struct {
	*world
	pods int
}

// next makes one.
func (m *moments) next() {
	m.t.Helper()
	m.pod(fmt.Sprintf("moment-%d", m.pods), v1.RuntimeClassName("batch"))
	m.pods++
}

// until makes pods until something is so.
func (m *moments) until(what string, so func() bool) {
	m.t.Helper()
	for deadline := time.Now().Add(recovery); !so(); time.Sleep(100 * time.Millisecond) {
		m.next()
		if time.Now().After(deadline) {
			m.t.Fatalf("not within %v: %s", recovery, what)
		}
	}
	m.next()
}

func (m *moments) allFollow() {
	m.t.Helper()
	m.until("all nodes follow", func() bool {
		pool := m.batch()
		return pool.Status.ObservedGeneration == pool.Generation && meta.IsStatusConditionTrue(pool.Status.Conditions, v1.ReadyCondition)
	})
}

func (m *moments) batch() *v1.NodePool {
	m.t.Helper()
	pool := &v1.NodePool{}
	m.do(m.Get(m.t.Context(), client.ObjectKey{Name: "batch"}, pool))
	return pool
}

// foundNodes waits until the scheduler has found a node for each pod, and fails where it has
// once found none.
func (m *moments) foundNodes() {
	m.t.Helper()
	failed := map[string]string{}
	m.eventually("each pod has found a node", func() error {
		var events corev1.EventList
		if err := m.List(m.t.Context(), &events, client.InNamespace(metav1.NamespaceDefault)); err != nil {
			return err
		}
		scheduled := map[string]bool{}
		for _, event := range events.Items {
			switch pod := event.InvolvedObject.Name; {
			case event.InvolvedObject.Kind != "Pod" || !strings.HasPrefix(pod, "moment-"):
			case event.Reason == "FailedScheduling":
				failed[pod] = event.Message
			case event.Reason == "Scheduled":
				scheduled[pod] = true
			}
		}
		if len(scheduled) < m.pods {
			return fmt.Errorf("%d of %d have; for these there was none: %v", len(scheduled), m.pods, failed)
		}
		return nil
	})
	for pod, message := range failed {
		m.t.Errorf("the scheduler found no node for pod %s: %s", pod, message)
	}
}

// The scheduler finds a node for pods that name the RuntimeClass at each moment of a rollout of
// labels and taints: while none of the nodes follows, when the only one that has followed takes
// no pods, while they follow one after the other, and while they are drained.
func TestPodsFindANodeWhileNodesFollow(t *testing.T) {
	m := &moments{world: newWorld(t)}
	nodes := []string{"moment-a", "moment-b", "moment-c"}
	for _, name := range nodes {
		m.node(name, role("batch"))
	}
	m.isReadyNode(nodes...)
	m.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: batch}
spec: {labels: {example.com/tier: "1"}, taints: [{key: example.com/batch, value: "1", effect: NoSchedule}]}
`)
	m.isReady("batch", 3)
	m.inUse(nodes...)
	m.next()
	m.change("batch", func(pool *v1.NodePool) {
		pool.Spec.Labels["example.com/tier"], pool.Spec.Taints[0].Value = "2", "2"
		pool.Spec.Rollout = &v1.Rollout{MaxUnavailable: ptr.To(intstr.FromInt32(0)), MinReady: &metav1.Duration{Duration: time.Second}}
	})
	m.until("all nodes wait", func() bool { rollout := m.batch().Status.Rollout; return rollout != nil && rollout.Waiting == 3 })
	m.next()
	m.change("batch", func(pool *v1.NodePool) { pool.Spec.Rollout.MaxUnavailable = ptr.To(intstr.FromInt32(1)) })
	m.until("one node has followed", func() bool { return m.get(nodes[0]).Labels["example.com/tier"] == "2" })
	cordon := func(yes bool) {
		update(m.world, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodes[0]}}, func(node *corev1.Node) { node.Spec.Unschedulable = yes })
	}
	cordon(true)
	m.until("a second has passed", after(time.Second))
	cordon(false)
	m.allFollow()
	if cluster.Stress() { // a drain takes 5 seconds of each node
		m.change("batch", func(pool *v1.NodePool) {
			pool.Spec.Labels["example.com/tier"] = "3"
			pool.Spec.Taints = []v1.Taint{{Key: "example.com/batch", Value: "3", Effect: corev1.TaintEffectNoExecute}}
			pool.Spec.Rollout.Drain = &v1.Drain{}
		})
		m.allFollow()
	}
	m.foundNodes()
}

// after reports whether some time has passed since.
func after(period time.Duration) func() bool {
	end := time.Now().Add(period)
	return func() bool { return time.Now().After(end) }
}
