package render

import (
	"fmt"
	"testing"
	"testing/fstest"
)

// BenchmarkLoad reads one pool per file, of the size of the examples.
func BenchmarkLoad(b *testing.B) {
	for _, count := range counts {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			files := fstest.MapFS{}
			for i := range count {
				name := fmt.Sprintf("pool-%d", i)
				rest := "spec:\n  taints:\n  - key: node-pool.lailin.xyz\n    value: " + name + "\n    effect: NoSchedule\n" +
					"  labels:\n    \"node-pool.lailin.xyz/master\": \"8\"\n    \"node-pool.lailin.xyz/test\": \"2\"\n  handler: runc\n"
				if i > 0 {
					rest += "  parent: pool-0\n"
				}
				files[fmt.Sprintf("pools/%d.yaml", i)] = &fstest.MapFile{Data: []byte(named(name, rest))}
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Load(files); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*count), "ns/pool")
			allocations := testing.AllocsPerRun(1, func() {
				if _, err := Load(files); err != nil {
					b.Error(err)
				}
			})
			b.ReportMetric(allocations/float64(count), "allocs/pool")
		})
	}
}
