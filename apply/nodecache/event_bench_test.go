package nodecache

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// What one event of a node costs, of which there is one per heartbeat: reading it
// as the client does, whole and trimmed, and making it small.
func BenchmarkEvent(b *testing.B) {
	events := make([][]byte, 100)
	for i := range events {
		events[i] = encode(b, &metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Raw: enveloped(b, plain, realisticNode(i))}})
	}
	read := func(b *testing.B, objects, stream runtime.Decoder, i int) *corev1.Node {
		var event metav1.WatchEvent
		if _, _, err := stream.Decode(events[i%len(events)], nil, &event); err != nil {
			b.Fatal(err)
		}
		return decode(b, objects, event.Object.Raw).(*corev1.Node)
	}
	for name, from := range map[string]runtime.NegotiatedSerializer{"whole": plain, "trimmed": trimming{plain}} {
		objects, stream := decoders(b, from)
		b.Run(name+"/read", func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				read(b, objects, stream, i)
			}
		})
		b.Run(name+"/read and slim", func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := Slim(read(b, objects, stream, i)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
