package nodecache

import (
	"bytes"
	"crypto/sha256"
	"sync"
	"weak"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// recall remembers the last decoded state of each node, for as long as that
// state is in use. Nearly every event about a node is a heartbeat of its
// kubelet: once it is trimmed, it differs from the state before in nothing but
// the version. Such a state is not decoded: it becomes the one before with
// another version, and shares all else with it. It may be used by many
// goroutines at once.
type recall struct {
	mu    sync.Mutex
	known map[string]recalled // by the name of the node
	// sweep is the number of nodes at which deleted ones are removed.
	sweep int
}

// recalled is a node and a digest of what it was decoded from.
type recalled struct {
	digest [sha256.Size]byte
	node   weak.Pointer[Node]
}

// leastSweep is the least number of nodes at which deleted ones are removed.
const leastSweep = 1024

func newRecall() *recall { return &recall{known: map[string]recalled{}, sweep: leastSweep} }

// state is an encoded node: its name, its version, and a digest of all but the
// version.
type state struct {
	name, version string
	digest        [sha256.Size]byte
}

// node returns the node of a state; nil where it is not known.
func (r *recall) node(of state) *Node {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, found := r.known[of.name]
	if !found || last.digest != of.digest {
		return nil
	}
	before := last.node.Value()
	if before == nil {
		return nil
	}
	node := *before
	node.ResourceVersion = of.version
	r.known[of.name] = recalled{of.digest, weak.Make(&node)}
	return &node
}

// remember stores the node that a state was decoded to.
func (r *recall) remember(of state, node *Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[of.name] = recalled{of.digest, weak.Make(node)}
	if len(r.known) < r.sweep {
		return
	}
	for name, last := range r.known {
		if last.node.Value() == nil {
			delete(r.known, name)
		}
	}
	r.sweep = max(leastSweep, 2*len(r.known))
}

// stateOf reads the state of an encoded node. It is not ok for anything that is
// not a node, and for an encoding that differs from the API server's.
func stateOf(encoded []byte) (s state, ok bool) {
	all := span{len(envelope), len(encoded)}
	if !bytes.HasPrefix(encoded, envelope) {
		return s, false
	}
	kind, ok := only(encoded, all, 1)
	if !ok || !bytes.Equal(kind.of(encoded), nodeType) {
		return s, false
	}
	node, okNode := only(encoded, all, 2)
	metadata, okMetadata := only(encoded, node, 1)
	name, okName := only(encoded, metadata, 1)
	version, okVersion := only(encoded, metadata, 6)
	if !okNode || !okMetadata || !okName || !okVersion {
		return s, false
	}
	s.name, s.version = string(name.of(encoded)), string(version.of(encoded))
	rest := sha256.New()
	rest.Write(encoded[:version.from])
	rest.Write(encoded[version.to:])
	rest.Sum(s.digest[:0])
	return s, s.name != ""
}

// span is a part of an encoded message.
type span struct{ from, to int }

func (s span) of(encoded []byte) []byte { return encoded[s.from:s.to] }

// only finds the value of a field that a message has exactly once.
func only(encoded []byte, message span, field protowire.Number) (value span, ok bool) {
	for at := message.from; at < message.to; {
		number, wire, tag := protowire.ConsumeTag(encoded[at:message.to])
		if tag < 0 {
			return span{}, false
		}
		length := protowire.ConsumeFieldValue(number, wire, encoded[at+tag:message.to])
		if length < 0 {
			return span{}, false
		}
		at += tag + length
		if number != field {
			continue
		}
		content, _ := protowire.ConsumeBytes(encoded[at-length : at])
		if ok || wire != protowire.BytesType {
			return span{}, false
		}
		value, ok = span{at - len(content), at}, true
	}
	return value, ok
}

// recalling decodes like its serializer, except for nodes: it reduces them, and does not
// decode those that it recalls.
type recalling struct {
	runtime.Serializer
	recall *recall
}

var nodeKind = corev1.SchemeGroupVersion.WithKind("Node")

// Decode implements [runtime.Decoder].
func (r recalling) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if into != nil {
		return r.Serializer.Decode(data, defaults, into)
	}
	state, ok := stateOf(data)
	if ok {
		if known := r.recall.node(state); known != nil {
			kind := nodeKind
			return known, &kind, nil
		}
	}
	object, kind, err := r.Serializer.Decode(data, defaults, nil)
	node, isNode := object.(*corev1.Node)
	if err != nil || !isNode {
		return object, kind, err
	}
	reduced := reduce(node)
	if ok {
		r.recall.remember(state, reduced)
	}
	return reduced, kind, nil
}
