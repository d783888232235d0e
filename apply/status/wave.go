package status

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// Wave is how far one wave of a pool is.
type Wave struct {
	Name  string    `json:"name"`
	State WaveState `json:"state"`
	// Nodes are in the wave; Followed and Waiting add up to them. Unavailable are those of
	// both that are not available, Settling others that followed less than minReady ago, Failed
	// those that have followed and are not ready, or do not meet the conditions of the pool.
	Nodes       int `json:"nodes"`
	Followed    int `json:"followed"`
	Waiting     int `json:"waiting"`
	Unavailable int `json:"unavailable"`
	Settling    int `json:"settling"`
	Failed      int `json:"failed"`
	// UnavailableNodes are the first three of the unavailable ones by name.
	UnavailableNodes []string `json:"unavailableNodes,omitempty"`
	// SoaksUntil is until when the next wave waits, and Approval what approves it.
	SoaksUntil *metav1.Time `json:"soaksUntil,omitempty"`
	Approval   string       `json:"approval,omitempty"`
}

// WaveState says whether it is the turn of a wave.
type WaveState string

// The states of a wave. Current is the one that follows, or that others wait for.
const (
	WaveFollowed WaveState = "followed"
	WaveCurrent  WaveState = "current"
	WaveWaiting  WaveState = "waiting"
)

// maxNamed is how many nodes are named; the others are counted.
const maxNamed = 3

func wavesOf(pool *v1.NodePool, turns *turns, now time.Time) []Wave {
	if pool.Spec.Rollout == nil || len(pool.Spec.Rollout.Waves) == 0 || turns.nodes == nil {
		return nil
	}
	counted, current := turns.rollouts.WaveNodes(pool.Name, turns.nodes, now), turns.waves[pool.Name]
	waves := make([]Wave, len(counted))
	for i, nodes := range counted {
		waves[i] = turns.waveOf(pool, nodes)
		switch {
		case current == nil || i < current.Index:
			waves[i].State = WaveFollowed
		case i > current.Index:
			waves[i].State = WaveWaiting
		default:
			waves[i].State, waves[i].Approval = WaveCurrent, current.Approval
			if !current.Soaks.IsZero() {
				waves[i].SoaksUntil = &metav1.Time{Time: current.Soaks}
			}
		}
	}
	return waves
}

func (t *turns) waveOf(pool *v1.NodePool, nodes plan.WaveNodes) Wave {
	return Wave{
		Name: nodes.Wave, Nodes: len(nodes.Followed) + len(nodes.Behind), Followed: len(nodes.Followed), Waiting: len(nodes.Behind),
		Unavailable: len(nodes.Unavailable), UnavailableNodes: slices.Clone(nodes.Unavailable[:min(len(nodes.Unavailable), maxNamed)]),
		Settling: len(nodes.Settling), Failed: t.failed(pool, nodes),
	}
}

// failed counts the nodes that have followed and are not ready, while nodes wait: later
// that has nothing to do with the pool.
func (t *turns) failed(pool *v1.NodePool, nodes plan.WaveNodes) int {
	if pool.Status.Rollout == nil {
		return 0
	}
	failed := 0
	for _, node := range nodes.Followed {
		if t.byName[node].Failed(pool.Name) {
			failed++
		}
	}
	return failed
}

// nodesOf counts the nodes of a pool, by its status, and as far as they are known.
func nodesOf(pool *v1.NodePool, turns *turns, now time.Time) *Nodes {
	reported := pool.Status.Nodes
	if reported == nil {
		return nil
	}
	n := &Nodes{Desired: int(reported.Desired), Updated: int(reported.Updated), Ready: int(reported.Ready)}
	if pool.Status.Rollout != nil {
		n.Waiting = int(pool.Status.Rollout.Waiting)
	}
	if turns.nodes == nil {
		return n
	}
	unavailable, settling, failed := 0, 0, 0
	for _, wave := range turns.rollouts.WaveNodes(pool.Name, turns.nodes, now) {
		unavailable, settling, failed = unavailable+len(wave.Unavailable), settling+len(wave.Settling), failed+turns.failed(pool, wave)
	}
	n.Unavailable, n.Settling, n.Failed = &unavailable, &settling, &failed
	return n
}
