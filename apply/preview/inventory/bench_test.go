package inventory

import (
	"bytes"
	"fmt"
	"testing"
)

// largeFleet is 5,000 nodes with 50,000 pods, in some pools.
func largeFleet(t testing.TB, pools int) *Inventory {
	const nodes, pods = 5_000, 50_000
	var b Builder
	fleet(nodes, pools, pods, add(t, &b))
	return b.Inventory("2026-01-02T03:04:05Z")
}

// benchFleets are a cluster as most are, and one whose pools are many and small.
var benchFleets = []int{50, 1_000}

func BenchmarkWrite(b *testing.B) {
	for _, pools := range benchFleets {
		b.Run(fmt.Sprintf("pools=%d", pools), func(b *testing.B) {
			inv := largeFleet(b, pools)
			var text bytes.Buffer
			b.ReportAllocs()
			for b.Loop() {
				text.Reset()
				if err := Write(&text, inv); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(text.Len()), "bytes/file")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, pools := range benchFleets {
		b.Run(fmt.Sprintf("pools=%d", pools), func(b *testing.B) {
			var text bytes.Buffer
			if err := Write(&text, largeFleet(b, pools)); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(bytes.NewReader(text.Bytes())); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(text.Len()), "bytes/file")
		})
	}
}
