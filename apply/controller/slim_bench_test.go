package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// What one event of a node costs, of which there is one per heartbeat: reading it
// as the client does, and making it small.
func BenchmarkSlim(b *testing.B) {
	nodes := make([][]byte, 100)
	for i := range nodes {
		data, err := realisticNode(i).Marshal()
		if err != nil {
			b.Fatal(err)
		}
		nodes[i] = data
	}
	read := func(b *testing.B, i int) *corev1.Node {
		node := &corev1.Node{}
		if err := node.Unmarshal(nodes[i%len(nodes)]); err != nil {
			b.Fatal(err)
		}
		return node
	}
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			read(b, i)
		}
	})
	b.Run("read and slim", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := slim(read(b, i)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
