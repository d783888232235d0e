package redact

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkSecret measures what a review of 5,000 nodes costs if all their values differ.
func BenchmarkSecret(b *testing.B) {
	for b.Loop() {
		finder := &Finder{}
		for i := range 5000 {
			finder.Secret("example.com/pool", fmt.Sprintf("workers-md-0-%d", i))
			finder.Secret("example.com/config", fmt.Sprintf(`{"user":"me","port":%d,"zones":["a","b"]}`, i))
		}
	}
}

// BenchmarkLargeValue measures the largest value that a node can have.
func BenchmarkLargeValue(b *testing.B) {
	for name, text := range map[string]string{
		"words": strings.Repeat("word ", 256<<10/5), "pairs": strings.Repeat("a: b, ", 256<<10/6), "JSON": `["` + strings.Repeat(`a","`, 256<<10/4) + `"]`,
		"names": strings.Repeat("token:,", 256<<10/7), "base64": strings.Repeat("YWJjZGVm", 256<<10/8), "depth": strings.Repeat("[", 256<<10), "plus": strings.Repeat("+%2B", 64<<10),
		"dots": strings.Repeat("a.", 128<<10), "keywords": strings.Repeat("sk_ ey s. api- ", 17<<10), "URL": strings.Repeat("a://b:", 43<<10), "flags": strings.Repeat("--token -", 29<<10),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				new(Finder).Secret("a", text)
			}
		})
	}
}
