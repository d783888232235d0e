package markdown

import (
	"io"
	"testing"

	"github.com/nodepools/nodepools/testdata/reviews"
)

// 1,000 pools that change, of which a comment holds a part.
func BenchmarkWrite(b *testing.B) {
	r := reviews.Big(1000)
	b.ReportAllocs()
	for b.Loop() {
		if err := Write(io.Discard, r, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
