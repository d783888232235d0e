package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// followedWorld is a cluster of nodes that have followed pools, which change.
func followedWorld(t *testing.T, names []string, before, after []*v1.NodePool) *rolloutWorld {
	w := &rolloutWorld{unready: map[string]bool{}, now: closedAt, period: time.Hour, before: before, after: after}
	for _, name := range names {
		node := newNode(name)
		node.Created = metav1.NewTime(closedAt.AddDate(-1, 0, 0))
		p, err := Node(node, expand(before...))
		if err != nil {
			t.Fatal(err)
		}
		w.nodes = append(w.nodes, p.After(node))
	}
	return w
}

func pairPool(name, value string, changes ...func(*v1.NodePool)) *v1.NodePool {
	return waitingPool(name, all(labelPairs(name, value), all(changes...)))
}

// Who approves what strong changes wait for does not withdraw the approval of what weaker ones
// wait for, nor the other way round, though there is one annotation.
func TestApprovalsDoNotWithdrawEachOther(t *testing.T) {
	approval := func(w *v1.Wave) { w.Approval = v1.ApprovalRequired }
	strong := pairPool("strong", "2", prior(9), limited("100%", time.Minute),
		inWaves(waveOf("canary", "1", approval), waveOf("second", "1", approval)))
	weak := pairPool("weak", "2", prior(1), func(p *v1.NodePool) { p.Generation = 3 })
	old := []*v1.NodePool{pairPool("strong", "1", prior(9)), pairPool("weak", "1", prior(1))}
	before := followedWorld(t, []string{"a", "b", "c", "d"}, old, nil)
	after := followedWorld(t, []string{"a", "b", "c", "d"}, []*v1.NodePool{pairPool("strong", "2", prior(9)), pairPool("weak", "1", prior(1))}, nil)
	both := followedWorld(t, []string{"a", "b", "c", "d"}, []*v1.NodePool{pairPool("strong", "2", prior(9)), pairPool("weak", "2", prior(1))}, nil)
	// a has followed both, b the stronger one alone, c and d nothing.
	nodes := []*NodeState{both.nodes[0], after.nodes[1], before.nodes[2], before.nodes[3]}
	pools := []*v1.NodePool{strong, weak}
	var asked []string
	for range 6 {
		rollouts := RolloutsOf(pools)
		var followers []Follower
		for _, node := range nodes {
			o := NodeOutcomeOf(node, expand(pools...), NodeFacts{Rollouts: rollouts, Now: closedAt})
			f := FollowerOf(node, o, true)
			if f.Name > "b" {
				f.Unavailable = f.Name == "c" || f.Name == "d" // so that nothing else happens meanwhile
			}
			followers = append(followers, f)
		}
		state := rollouts.Turns(asking(followers), nil, closedAt, true).Waves["strong"]
		if state == nil || state.Approval == "" {
			break
		}
		asked = append(asked, state.Approval)
		strong.Annotations = map[string]string{v1.ApproveRolloutAnnotation: state.Approval}
	}
	t.Log(asked)
	if sorted := slices.Compact(slices.Sorted(slices.Values(asked))); len(sorted) < len(asked) {
		t.Errorf("asked again for what was approved: %s", strings.Join(asked, ", "))
	}
}

// A pool of all nodes has the waves of the whole cluster, and says nothing itself. The
// change of a weak pool that never comes, as its own budget is 0, does not keep what stronger
// pools say at the canary.
func TestWeakPoolStopsNoWavesOfTheFleet(t *testing.T) {
	pools := func(value string) []*v1.NodePool {
		return []*v1.NodePool{
			waitingPool("fleet", all(prior(100), inWaves(waveOf("canary", "1", nil)))),
			pairPool("strong", value, prior(9)),
			pairPool("weak", value, prior(1), limited("0", time.Minute)),
		}
	}
	w := followedWorld(t, []string{"a", "b"}, pools("1"), pools("2"))
	s := newStepper(w)
	s.steps(w.now, w.period)
	for _, name := range []string{"a", "b"} {
		if got := s.nodes[name].Labels["example.com/strong"]; got != "2" {
			t.Errorf("node %s has strong=%s after an hour", name, got)
		}
	}
}

// Commits of a weak pool do not make the canary of a stronger one soak anew.
func TestWeakCommitsExtendNoSoak(t *testing.T) {
	soaks := func(w *v1.Wave) { w.Soak = &metav1.Duration{Duration: 30 * time.Minute} }
	old := []*v1.NodePool{pairPool("strong", "1", prior(9)), pairPool("weak", "0", prior(1))}
	w := followedWorld(t, []string{"a", "b"}, old, []*v1.NodePool{
		pairPool("strong", "2", prior(9), inWaves(waveOf("canary", "1", soaks))), pairPool("weak", "0", prior(1)),
	})
	s := newStepper(w)
	now := w.now
	for i := range 8 {
		s.steps(now, 20*time.Minute)
		now = now.Add(20 * time.Minute)
		weak := pairPool("weak", string(rune('a'+i)), prior(1))
		weak.Generation = int64(i + 2)
		s.pools = []*v1.NodePool{s.pools[0], weak}
		s.expansion, s.rollouts = expand(s.pools...), RolloutsOf(s.pools)
	}
	if got := s.nodes["b"].Labels["example.com/strong"]; got != "2" {
		t.Errorf("after %v the second wave has strong=%s, the soak is 30m", now.Sub(w.now), got)
	}
}

// The rollout of a pool is not stuck while what it says itself soaks, or has just gone on,
// though a weaker change waits on all of its nodes.
func TestNotStuckWhileItGoesOn(t *testing.T) {
	soaks := func(w *v1.Wave) { w.Soak = &metav1.Duration{Duration: 24 * time.Hour} }
	for name, rollout := range map[string]func(*v1.NodePool){
		"soaks":   inWaves(waveOf("canary", "1", soaks)),
		"goes on": limited("1", 50*time.Minute),
	} {
		pools := func(value string) []*v1.NodePool {
			return []*v1.NodePool{
				pairPool("strong", value, prior(9), rollout, func(p *v1.NodePool) { p.Spec.Rollout.ProgressDeadline = &metav1.Duration{Duration: time.Hour} }),
				pairPool("weak", value, prior(1), limited("0", time.Minute)),
			}
		}
		w := followedWorld(t, []string{"a", "b", "c", "d"}, pools("1"), pools("2"))
		for _, pool := range w.after {
			pool.ManagedFields = nil
			pool.CreationTimestamp = metav1.NewTime(closedAt.Add(-time.Minute))
		}
		s := newStepper(w)
		s.steps(w.now, 3*time.Hour)
		now := w.now.Add(151 * time.Minute) // one has begun a minute ago, or soaks
		var followers []Follower
		for _, node := range s.names {
			followers = append(followers, s.observed[node])
		}
		if turns := s.rollouts.Turns(asking(followers), s.halts, now, true); len(turns.Stuck) > 0 {
			t.Errorf("%s: stuck %v, waves %v; nodes have %v", name, turns.Stuck, turns.Waves["strong"], s.writes)
		}
	}
}
