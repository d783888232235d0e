package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// What is shown of waves is what turns are given by: of the wave that follows the numbers
// are those of its state.
func TestWaveNodes(t *testing.T) {
	rollouts := RolloutsOf([]*v1.NodePool{
		waitingPool("fleet", inWaves(waveOf("canary", "1", func(w *v1.Wave) { w.Approval = v1.ApprovalRequired }), zoneWave("b", "b"))),
		waitingPool("gpu", func(p *v1.NodePool) {
			p.CreationTimestamp = metav1.NewTime(closedAt)
			p.Spec.Rollout = &v1.Rollout{MinReady: &metav1.Duration{Duration: time.Hour}}
		}),
	})
	node := func(name, zone string, change func(*Follower)) Follower {
		f := follower(rollouts, name, zone, "fleet", "gpu")
		if change != nil {
			change(&f)
		}
		return f
	}
	waits := func(f *Follower) { f.Waits, f.Asks = []string{"gpu"}, asksFor("fleet") }
	nodes := []Follower{
		node("n4", "a", waits),
		node("n1", "b", func(f *Follower) { f.Change.At = closedAt.Add(-time.Minute) }),
		node("n2", "b", func(f *Follower) { waits(f); f.Unavailable = true }),
		node("n3", "b", func(f *Follower) { f.Stuck = true }),
		{Name: "other", Pools: []string{"web"}},
	}
	want := []WaveNodes{
		{Wave: "canary", Followed: []string{"n1"}},
		{Wave: "b", Followed: []string{"n3"}, Behind: []string{"n2"}, Unavailable: []string{"n2", "n3"}},
		{Wave: v1.RestWave, Behind: []string{"n4"}},
	}
	got := rollouts.WaveNodes("fleet", nodes, closedAt)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the waves of the fleet (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]WaveNodes{{
		Wave: v1.RestWave, Followed: []string{"n1", "n3"}, Behind: []string{"n2", "n4"}, Unavailable: []string{"n2", "n3"}, Settling: []string{"n1"},
	}}, rollouts.WaveNodes("gpu", nodes, closedAt)); diff != "" {
		t.Errorf("a pool without waves, in which a node settles for an hour (-want +got):\n%s", diff)
	}
	state := rollouts.Turns(asking(nodes), nil, closedAt, true).Waves["fleet"]
	if state == nil || state.Index != 0 || state.Nodes != 1 || state.Behind != 0 || state.Approval == "" {
		t.Errorf("the state of the fleet is %v", state)
	}
	if waves := rollouts.WaveNodes("none", nodes, closedAt); waves != nil {
		t.Errorf("a pool that is not there has %v", waves)
	}
	if waves := (*Rollouts)(nil).WaveNodes("fleet", nodes, closedAt); waves != nil {
		t.Errorf("without rollouts there are %v", waves)
	}
}
