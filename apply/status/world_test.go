package status_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/status"
)

var now = time.Date(2026, time.November, 25, 12, 0, 0, 0, time.UTC)

// poolOf is a pool of the nodes with its name before a dash. It was made long ago, and its
// label has changed from 1 to 2 since.
func poolOf(name string, rollout *v1.Rollout, change ...func(*v1.NodePool)) *v1.NodePool {
	pool := &v1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 7, CreationTimestamp: metav1.NewTime(now.Add(-30 * 24 * time.Hour))},
		Spec: v1.NodePoolSpec{
			NodeNames: []string{name + "-*"}, Labels: map[string]v1.LabelValue{"example.com/tier": "2"}, Rollout: rollout,
		},
		Status: v1.NodePoolStatus{ObservedGeneration: 7},
	}
	for _, change := range change {
		change(pool)
	}
	pool.Status.Accepted = plan.AcceptedSpecOf(pool)
	return pool
}

// reports is the status of a pool: its conditions since some time, and its counts.
func reports(condition, reason, message string, since time.Duration, updated, desired, waiting int32) func(*v1.NodePool) {
	return func(pool *v1.NodePool) {
		for _, kind := range []string{v1.ReadyCondition, v1.ReconcilingCondition, v1.StalledCondition} {
			is := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now.Add(-since))}
			if kind == condition {
				is.Status = metav1.ConditionTrue
			}
			pool.Status.Conditions = append(pool.Status.Conditions, is)
		}
		pool.Status.Nodes = &v1.NodeCounts{Desired: desired, Updated: updated, Ready: updated}
		if waiting > 0 {
			pool.Status.Rollout = &v1.RolloutStatus{Waiting: waiting}
		}
	}
}

// fromGit is the file and the revision of a pool.
func fromGit(pool *v1.NodePool) {
	pool.Annotations = map[string]string{
		v1.FileAnnotation: pool.Name + ".yaml", v1.RevisionAnnotation: "main@sha1:6d0c4c1f2b6a2e3c4d5e6f708192a3b4c5d6e7f8",
	}
}

// nodesOf are nodes of a pool that carry its first label.
func nodesOf(t *testing.T, pool *v1.NodePool, count int) []status.Node {
	t.Helper()
	before := pool.DeepCopy()
	before.Annotations, before.DeletionTimestamp = nil, nil
	before.Spec.Labels["example.com/tier"] = "1"
	nodes := make([]status.Node, count)
	for i := range nodes {
		node := &plan.NodeState{Name: fmt.Sprintf("%s-%02d", pool.Name, i+1), Labels: map[string]string{}, Created: metav1.NewTime(now.Add(-60 * 24 * time.Hour))}
		p, err := plan.Node(node, plan.Expand([]*v1.NodePool{before}, nil))
		if err != nil {
			t.Fatal(err)
		}
		nodes[i] = status.Node{NodeState: p.After(node), Ready: true}
	}
	return nodes
}

// follow has a node follow its pools some time ago, in its turn.
func follow(t *testing.T, node *status.Node, ago time.Duration, pools ...*v1.NodePool) {
	t.Helper()
	facts := plan.NodeFacts{Rollouts: plan.RolloutsOf(pools), Now: now.Add(-ago)}
	expansion := plan.Expand(pools, nil)
	facts.Turn = plan.NodeOutcomeOf(node.NodeState, expansion, facts).Asks
	outcome := plan.NodeOutcomeOf(node.NodeState, expansion, facts)
	if outcome.State != plan.NodeStateChanging {
		t.Fatalf("node %s is %s", node.Name, outcome.State)
	}
	node.NodeState = outcome.Admission.Plan.After(node.NodeState)
}

// inWaves is a rollout with a canary, a wave of half the nodes, and the rest.
func inWaves(canary v1.Wave) *v1.Rollout {
	canary.Name, canary.Nodes = "canary", ptr.To(intstr.FromInt32(1))
	return &v1.Rollout{MaxUnavailable: ptr.To(intstr.FromInt32(2)), Waves: []v1.Wave{canary, {Name: "half", Nodes: ptr.To(intstr.FromString("50%"))}}}
}

func nightly() *v1.Rollout {
	return &v1.Rollout{Windows: []v1.Window{{Schedule: "0 2 * * *", TimeZone: "Europe/Berlin", Duration: metav1.Duration{Duration: time.Hour}}}}
}
