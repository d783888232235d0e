package plan

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// manyBehind are nodes that have followed a pool, which has changed since.
func manyBehind(b *testing.B, count int, before *v1.NodePool) []*NodeState {
	b.Helper()
	nodes := make([]*NodeState, 0, count)
	for i := range count {
		node := newNode(fmt.Sprintf("n%05d", i))
		p, err := Node(node, expand(before))
		if err != nil {
			b.Fatal(err)
		}
		nodes = append(nodes, p.After(node))
	}
	return nodes
}

// What it costs to foretell a rollout of 5,000 nodes in 50 waves, of which 1% may be
// unavailable, at night.
func BenchmarkSchedule(b *testing.B) {
	var waves []v1.Wave
	for i := range 49 {
		waves = append(waves, waveOf("w"+strconv.Itoa(i), "100", nil))
	}
	pool := waitingPool("p", all(labelled("2"), limited("1%", time.Minute), inWaves(waves...)))
	pool.Spec.Rollout.Windows = nightly().Windows
	nodes := manyBehind(b, 5000, waitingPool("p", labelled("1")))
	b.ResetTimer()
	for b.Loop() {
		schedules := newSchedules(newForesight(Cluster{Nodes: nodes}, expand(pool), RolloutsOf([]*v1.NodePool{pool}), closedAt)).foretell()
		if len(schedules) != 1 || len(schedules[0].Waves) != 50 || schedules[0].Stays != "" {
			b.Fatalf("%d schedules, %q", len(schedules), schedules[0].Stays)
		}
	}
}
