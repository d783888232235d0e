package plan

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// What it costs to give turns in 20 pools of 5,000 nodes each, in waves, where 1,000 have
// followed up to 64 keys of each pool, no two the same, and 500 of these have failed.
func BenchmarkTurnsOfFailed(b *testing.B) {
	const keys = 64
	var pools []*v1.NodePool
	for i := range 20 {
		pools = append(pools, waitingPool(fmt.Sprintf("p%02d", i), all(limited("10%", time.Minute), func(pool *v1.NodePool) {
			for wave := range 8 {
				pool.Spec.Rollout.Waves = append(pool.Spec.Rollout.Waves, waveOf(fmt.Sprintf("w%d", wave), "5%", func(w *v1.Wave) { w.Soak = &metav1.Duration{Duration: time.Hour} }))
			}
			pool.Spec.Labels = map[string]v1.LabelValue{}
			for key := range keys {
				pool.Spec.Labels[fmt.Sprintf("example.com/%d-%d", i, key)] = "2"
			}
		})))
	}
	rollouts := RolloutsOf(pools)
	nodes := failedFollowers(rollouts, pools, 5000, 1000)
	b.ResetTimer()
	for b.Loop() {
		if turns := rollouts.Turns(nodes, nil, closedAt, true); len(turns.Halts) != len(pools) || turns.Halts["p00"].Nodes != 500 {
			b.Fatalf("%d halts: %+v", len(turns.Halts), turns.Halts["p00"])
		}
	}
}

// failedFollowers are nodes in all pools, of which the first have followed all keys but one or
// two, and every other one of these is not ready.
func failedFollowers(rollouts *Rollouts, pools []*v1.NodePool, count, following int) (nodes []Follower) {
	var names []string
	sayings := map[string][]string{}
	for _, pool := range pools {
		names = append(names, pool.Name)
		for key, value := range pool.Spec.Labels {
			sayings[pool.Name] = append(sayings[pool.Name], rollouts.of(pool.Name).saying(Label, key, string(value)))
		}
		slices.Sort(sayings[pool.Name])
	}
	for i := range count {
		node := follower(rollouts, fmt.Sprintf("n%05d", i), "", names...)
		if i >= following {
			node.Asks, node.Waits = names, names
			nodes = append(nodes, node)
			continue
		}
		node.Change = LastChange{At: closedAt.Add(-time.Minute), Pools: map[string]FollowedPool{}}
		for _, pool := range names {
			keys := slices.Clone(sayings[pool])
			keys = slices.Delete(keys, i%len(keys), i%len(keys)+1)
			keys = slices.Delete(keys, i/len(keys), i/len(keys)+1)
			node.Change.Pools[pool] = FollowedPool{At: node.Change.At, Content: rollouts.of(pool).content, Keys: keys}
		}
		node.Unready = i%2 == 0
		node.Unavailable = node.Unready
		nodes = append(nodes, node)
	}
	return asking(nodes)
}
