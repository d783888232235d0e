package nodecache

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// plain is how a client reads what is not trimmed.
var plain = serializer.NewCodecFactory(scheme.Scheme).WithoutConversion()

// TestTrimLosesNothingThatIsKept: whatever the values of its fields, a node
// that was trimmed while it was encoded is kept like one that was not.
func TestTrimLosesNothingThatIsKept(t *testing.T) {
	random := randfill.NewWithSeed(1).NilChance(0.2).NumElements(0, 4).Funcs(
		func(time *metav1.Time, c randfill.Continue) { *time = metav1.Unix(c.Int63n(1<<32), 0) },
		func(fields *metav1.FieldsV1, c randfill.Continue) {
			texts := []string{`{"f:metadata":{"f:labels":{"f:a":{}}}}`, `{"f:spec":{"f:taints":{}}}`, `{"f:status":{}}`, "", "torn"}
			fields.SetRawString(texts[c.Intn(len(texts))])
		},
		func(entry *metav1.ManagedFieldsEntry, c randfill.Continue) {
			c.FillNoCustom(entry)
			entry.Manager = []string{v1.FieldManager, "kubelet", ""}[c.Intn(3)]
			entry.Operation = []metav1.ManagedFieldsOperationType{metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate}[c.Intn(2)]
		},
		func(condition *corev1.NodeCondition, c randfill.Continue) {
			c.FillNoCustom(condition)
			condition.Type = []corev1.NodeConditionType{corev1.NodeReady, "NotReady", corev1.NodeDiskPressure}[c.Intn(3)]
			condition.Status = []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}[c.Intn(2)]
		},
	)
	readies, owned := 0, 0
	for range 2000 {
		node := &corev1.Node{}
		random.Fill(node)
		kept := keptAsDecoded(t, encode(t, node))
		if kept.Ready {
			readies++
		}
		if len(kept.ManagedFields) > 0 {
			owned++
		}
	}
	if readies == 0 || owned == 0 {
		t.Errorf("%d nodes were ready, and of %d somebody owned what a plan reads: that says nothing", readies, owned)
	}
}

// keptAsDecoded compares what is kept of an encoded node with and without trimming,
// and returns it.
func keptAsDecoded(t *testing.T, encoded []byte) *Node {
	t.Helper()
	want, got := &corev1.Node{}, &corev1.Node{}
	if err := want.Unmarshal(encoded); err != nil {
		t.Fatalf("no node: %v", err)
	}
	trimmed, err := trimmedNode.trim(nil, encoded)
	if err != nil {
		t.Fatalf("trim: %v", err)
	}
	if err := got.Unmarshal(trimmed); err != nil {
		t.Fatalf("what was trimmed is no node: %v", err)
	}
	wantKept, gotKept := reduce(want), reduce(got)
	if diff := cmp.Diff(wantKept, gotKept, asKept); diff != "" {
		t.Fatalf("another node is kept (-whole +trimmed):\n%s", diff)
	}
	return gotKept
}

// FuzzTrim: no input breaks the trimmer, and a valid node is kept unchanged.
func FuzzTrim(f *testing.F) {
	f.Add([]byte{})
	f.Add(encode(f, realisticNode(0)))
	f.Add(encode(f, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Conditions: realisticNode(0).Status.Conditions}}))
	// The length of the type is written in two bytes.
	condition := append(protowire.AppendTag(nil, 1, protowire.BytesType), 0x85, 0x00)
	condition = protowire.AppendString(protowire.AppendTag(append(condition, "Ready"...), 2, protowire.BytesType), "True")
	status := protowire.AppendBytes(protowire.AppendTag(nil, 4, protowire.BytesType), condition)
	f.Add(protowire.AppendBytes(protowire.AppendTag(nil, 3, protowire.BytesType), status))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		for _, trim := range []trimmer{trimEvent, trimList, trimmedNodeList.trim} {
			trimmed, err := trim(nil, encoded)
			if err == nil && len(trimmed) > len(encoded) {
				t.Errorf("%d bytes became %d", len(encoded), len(trimmed))
			}
		}
		// A message that cannot be trimmed is decoded whole: unclosed groups, which
		// the decoder ignores.
		_, err := trimmedNode.trim(nil, encoded)
		if err == nil && (&corev1.Node{}).Unmarshal(encoded) == nil {
			keptAsDecoded(t, encoded)
		}
	})
}

// TestTrimmingDecodesAsBefore goes through the client's own decoders, for an object,
// a list and an event of a watch.
func TestTrimmingDecodesAsBefore(t *testing.T) {
	nodes := &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "more"}, Items: []corev1.Node{*realisticNode(1), *realisticNode(2)}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a-pod"}, Spec: corev1.PodSpec{NodeName: "n"}}
	refusal := &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Message: "too old", Code: 410}
	for name, c := range map[string]struct {
		object  runtime.Object
		trimmed bool // in an event
	}{
		"node": {realisticNode(3), true}, "pod": {pod, false}, "nodes": {nodes, false}, "refusal": {refusal, false},
	} {
		t.Run(name, func(t *testing.T) {
			data := enveloped(t, plain, c.object)
			whole, wholeEvent := decoders(t, plain)
			trimmed, trimmedEvents := decoders(t, newTrimming(plain))
			sameKept(t, decode(t, whole, data), decode(t, trimmed, data))

			event := encode(t, &metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Raw: data}})
			var before, after metav1.WatchEvent
			for _, d := range []struct {
				decoder runtime.Decoder
				into    *metav1.WatchEvent
			}{{wholeEvent, &before}, {trimmedEvents, &after}} {
				if _, _, err := d.decoder.Decode(event, nil, d.into); err != nil {
					t.Fatal(err)
				}
			}
			if before.Type != after.Type {
				t.Errorf("the event is of type %q, want %q", after.Type, before.Type)
			}
			if isSmall := len(after.Object.Raw) < len(before.Object.Raw)/2; isSmall != c.trimmed {
				t.Errorf("%d of %d bytes are left to decode", len(after.Object.Raw), len(before.Object.Raw))
			}
			if !c.trimmed && !bytes.Equal(before.Object.Raw, after.Object.Raw) {
				t.Error("what is no node was changed")
			}
			sameKept(t, decode(t, whole, before.Object.Raw), decode(t, trimmed, after.Object.Raw))
		})
	}
}

// TestTrimmingReportsWhatIsTorn: truncated data is an error, with the same text
// as without trimming.
func TestTrimmingReportsWhatIsTorn(t *testing.T) {
	whole, _ := decoders(t, plain)
	trimmed, _ := decoders(t, newTrimming(plain))
	data := enveloped(t, plain, &corev1.NodeList{Items: []corev1.Node{*realisticNode(0)}})
	random := rand.New(rand.NewPCG(1, 2))
	torn := 0
	for range 500 {
		cut := append([]byte(nil), data[:random.IntN(len(data))]...)
		_, _, want := whole.Decode(cut, nil, nil)
		_, _, got := trimmed.Decode(cut, nil, nil)
		if want != nil {
			torn++
		}
		if (want == nil) != (got == nil) || want != nil && want.Error() != got.Error() {
			t.Fatalf("cut off at %d bytes: %v, want %v", len(cut), got, want)
		}
	}
	if torn == 0 {
		t.Error("nothing was torn")
	}
}

// TestTrimmedEventIsCheap counts the allocations of an event that changes what
// is kept, and of a heartbeat, beside those without trimming.
func TestTrimmedEventIsCheap(t *testing.T) {
	allocations := func(from runtime.NegotiatedSerializer, next func(*corev1.Node)) float64 {
		r, node, version := newReader(t, from), realisticNode(0), 0
		var events [][]byte
		for range 102 { // one is read beforehand
			version++
			node = heartbeat(node, version)
			next(node)
			events = append(events, encode(t, &metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Raw: enveloped(t, plain, node)}}))
		}
		kept := r.decode(events[0])
		return testing.AllocsPerRun(100, func() {
			events = events[1:]
			kept = r.decode(events[0])
			if kept.ResourceVersion == "" {
				t.Fatal("nothing was read")
			}
		})
	}
	change := func(node *corev1.Node) { node.Labels["team"] = node.ResourceVersion }
	nothing := func(*corev1.Node) {}
	whole, changed, heartbeat := allocations(plain, change), allocations(newTrimming(plain), change), allocations(newTrimming(plain), nothing)
	t.Logf("%.0f allocations for a change, %.0f for a heartbeat, %.0f without trimming", changed, heartbeat, whole)
	if changed > whole*0.7 || heartbeat > whole*0.15 {
		t.Errorf("a change costs %.0f allocations, a heartbeat %.0f, and %.0f without trimming", changed, heartbeat, whole)
	}
}

func decoders(t testing.TB, from runtime.NegotiatedSerializer) (objects, events runtime.Decoder) {
	t.Helper()
	negotiator := runtime.NewClientNegotiator(from, corev1.SchemeGroupVersion)
	objects, err := negotiator.Decoder(runtime.ContentTypeProtobuf, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, events, _, err = negotiator.StreamDecoder(runtime.ContentTypeProtobuf, nil)
	if err != nil {
		t.Fatal(err)
	}
	return objects, events
}

func decode(t testing.TB, decoder runtime.Decoder, data []byte) runtime.Object {
	t.Helper()
	object, err := runtime.Decode(decoder, data)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// sameKept compares two objects as a cache keeps them.
func sameKept(t *testing.T, want, got runtime.Object) {
	t.Helper()
	if diff := cmp.Diff(kept(want), kept(got), asKept); diff != "" {
		t.Errorf("another object is kept (-whole +trimmed):\n%s", diff)
	}
}

// kept is an object as a cache keeps it: of a list, the objects, and what it says of itself.
func kept(object runtime.Object) any {
	switch object := object.(type) {
	case *corev1.Node:
		return reduce(object)
	case *corev1.NodeList:
		all := []any{object.TypeMeta, object.ListMeta}
		for i := range object.Items {
			all = append(all, reduce(&object.Items[i]))
		}
		return all
	}
	return object
}

// asKept compares nodes as a cache keeps them.
var asKept = cmp.Options{
	cmp.AllowUnexported(Node{}, readOnly{}), cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b metav1.FieldsV1) bool { return a.GetRawString() == b.GetRawString() }),
}

func encode(t testing.TB, message interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	data, err := message.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// enveloped is an object as the API server sends it.
func enveloped(t testing.TB, from runtime.NegotiatedSerializer, object runtime.Object) []byte {
	t.Helper()
	info, found := runtime.SerializerInfoForMediaType(from.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !found {
		t.Fatal("there is no protobuf")
	}
	data, err := runtime.Encode(from.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), object)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
