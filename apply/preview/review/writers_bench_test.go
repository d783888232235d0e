package review_test

import (
	"bytes"
	"testing"

	"github.com/nodepools/nodepools/testdata/reviews"
)

// BenchmarkWriters writes that 50,000 pods are evicted, each of which is a workload of
// its own: the most rows that a review has.
func BenchmarkWriters(b *testing.B) {
	r := reviews.Bare(50_000)
	for name, write := range reviewWriters {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				var written bytes.Buffer
				if err := write(&written, r); err != nil {
					b.Fatal(err)
				}
				size = written.Len()
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}
