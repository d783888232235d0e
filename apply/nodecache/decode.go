package nodecache

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// trimming is a NegotiatedSerializer that trims nodes that are encoded as protobuf
// before it decodes them: those in the events of a watch, and those in lists. It
// decodes an event about a node only where the node is not recalled. From whichever
// encoding, the node of an event becomes a [Node].
type trimming struct {
	runtime.NegotiatedSerializer
	recall *recall
}

func newTrimming(of runtime.NegotiatedSerializer) trimming { return trimming{of, newRecall()} }

// SupportedMediaTypes implements [runtime.NegotiatedSerializer].
func (t trimming) SupportedMediaTypes() []runtime.SerializerInfo {
	supported := append([]runtime.SerializerInfo(nil), t.NegotiatedSerializer.SupportedMediaTypes()...)
	for i := range supported {
		if supported[i].MediaType != runtime.ContentTypeProtobuf || supported[i].StreamSerializer == nil {
			supported[i].Serializer = recalling{supported[i].Serializer, t.recall}
			continue
		}
		supported[i].Serializer = recalling{trimmingSerializer{supported[i].Serializer, trimList}, t.recall}
		stream := *supported[i].StreamSerializer
		stream.Serializer = trimmingSerializer{stream.Serializer, trimEvent}
		supported[i].StreamSerializer = &stream
	}
	return supported
}

type trimmingSerializer struct {
	runtime.Serializer
	trim trimmer
}

// Decode implements [runtime.Decoder].
func (s trimmingSerializer) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if _, keepsData := into.(*runtime.Unknown); keepsData {
		return s.Serializer.Decode(data, defaults, into)
	}
	buffer := buffers.Get().(*[]byte)
	defer keepBuffer(buffer)
	if len(data) > largestBuffer {
		*buffer = make([]byte, 0, len(data)/2) // more than remains of a list
	}
	trimmed, err := s.trim((*buffer)[:0], data)
	if err != nil {
		return s.Serializer.Decode(data, defaults, into) // which returns a better error
	}
	*buffer = trimmed
	return s.Serializer.Decode(trimmed, defaults, into)
}

// buffers hold trimmed data until it is decoded, which copies all of it.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// largestBuffer is the size up to which buffers are reused: that of an event of
// a watch, not of a list.
const largestBuffer = 64 << 10

func keepBuffer(buffer *[]byte) {
	if cap(*buffer) <= largestBuffer {
		buffers.Put(buffer)
	}
}
