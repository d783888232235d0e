package render

import (
	"fmt"
	"runtime"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// counts are the numbers of pools that benchmarks are run with.
var counts = []int{10, 100, 1000}

func BenchmarkExpand(b *testing.B) {
	for _, count := range counts {
		pools := crowdOfPools(count, mixed)
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Expand(pools)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*count), "ns/pool")
			b.ReportMetric(testing.AllocsPerRun(1, func() { Expand(pools) })/float64(count), "allocs/pool")
			b.ReportMetric(heldBy(4000/count, func() any { return Expand(pools) })/float64(count), "held-B/pool")
		})
	}
}

// heldBy returns the memory, in bytes, that each of several values holds until
// it is dropped.
func heldBy(several int, build func() any) float64 {
	used := func() float64 {
		runtime.GC()
		runtime.GC() // the first leaves what pools of the runtime hold
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return float64(stats.HeapAlloc)
	}
	var made []any
	before := used()
	for range several {
		made = append(made, build())
	}
	held := used() - before
	runtime.KeepAlive(made)
	return held / float64(several)
}

// BenchmarkNode must cost the same whatever the number of pools, as long as they
// do not concern the node. It grows where every pool may: see [memberIndex].
func BenchmarkNode(b *testing.B) {
	name, labels := benchNode()
	for _, kind := range crowdKinds {
		for _, count := range counts {
			expansion := Expand(withTwoOfTheNode(crowdOfPools(count-2, kind.pool)))
			b.Run(fmt.Sprintf("%s/%d", kind.name, count), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if desired := expansion.Node(name, labels); len(desired.Pools) != 2 {
						b.Fatalf("in %v", desired.Pools)
					}
				}
				b.ReportMetric(float64(matched(expansion, name, labels)), "matched/node")
			})
		}
	}
}

// BenchmarkMembers looks up the pools of a node alone.
func BenchmarkMembers(b *testing.B) {
	name, labels := benchNode()
	for _, count := range counts {
		expansion := Expand(withTwoOfTheNode(crowdOfPools(count-2, mixed)))
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if pools := expansion.Members(name, labels); len(pools) != 2 {
					b.Fatalf("in %v", pools)
				}
			}
		})
	}
}

// withTwoOfTheNode adds a pool that the node of benchNode is in by its role
// label, and one by its rack.
func withTwoOfTheNode(pools []*v1.NodePool) []*v1.NodePool {
	carried := v1.NodePoolSpec{
		Labels: map[string]v1.LabelValue{"node-pool.lailin.xyz/a": "8", "node-pool.lailin.xyz/b": "2"},
		Taints: []v1.Taint{noSchedule("node-pool.lailin.xyz", "mine")},
	}
	byRack := *carried.DeepCopy()
	byRack.Selector = &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"topology.kubernetes.io/zone": "z", "rack": "mine"}}
	byRack.Priority = 1
	return append(pools, define("mine", carried), define("mine-by-rack", byRack))
}
