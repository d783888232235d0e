package nodecache

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// BenchmarkEvent measures one event of a node, of which there is one per
// heartbeat: decoding it as the client does, and reducing it. Beside it: an
// event that changes what is kept, and one that is decoded whole.
func BenchmarkEvent(b *testing.B) {
	heartbeats, changes := make([][]byte, 100), make([][]byte, 200)
	event := func(node *corev1.Node) []byte {
		return encode(b, &metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Raw: enveloped(b, plain, node)}})
	}
	for i := range heartbeats {
		node := realisticNode(i)
		heartbeats[i], changes[i] = event(node), event(node)
		node.Labels["team"] = "search"
		changes[len(heartbeats)+i] = event(node)
	}
	for name, c := range map[string]struct {
		from   runtime.NegotiatedSerializer
		events [][]byte
	}{"whole": {plain, heartbeats}, "change": {newTrimming(plain), changes}, "heartbeat": {newTrimming(plain), heartbeats}} {
		b.Run(name, func(b *testing.B) {
			r := newReader(b, c.from)
			kept := make([]*Node, len(heartbeats)) // as a cache does
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				kept[i%len(kept)] = r.decode(c.events[i%len(c.events)])
			}
		})
	}
}
