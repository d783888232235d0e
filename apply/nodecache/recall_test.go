package nodecache

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	goruntime "runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// reader reads the events of one watch.
type reader struct {
	t               testing.TB
	objects, events runtime.Decoder
}

func newReader(t testing.TB, from runtime.NegotiatedSerializer) reader {
	objects, events := decoders(t, from)
	return reader{t, objects, events}
}

// read sends a state of a node as an API server does, and returns the node that is kept.
func (r reader) read(node *corev1.Node) *Node {
	r.t.Helper()
	return r.decode(encode(r.t, &metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Raw: enveloped(r.t, plain, node)}}))
}

func (r reader) decode(encoded []byte) *Node {
	r.t.Helper()
	var event metav1.WatchEvent
	if _, _, err := r.events.Decode(encoded, nil, &event); err != nil {
		r.t.Fatal(err)
	}
	node, err := transform(decode(r.t, r.objects, event.Object.Raw))
	if err != nil {
		r.t.Fatal(err)
	}
	return node.(*Node)
}

// heartbeat is the next state of a node after its kubelet has written the status.
func heartbeat(node *corev1.Node, version int) *corev1.Node {
	next := node.DeepCopy()
	next.ResourceVersion = fmt.Sprint(version)
	at := metav1.NewTime(time.Unix(int64(1_800_000_000+version), 0))
	for i := range next.Status.Conditions {
		next.Status.Conditions[i].LastHeartbeatTime = at
	}
	for i := range next.ManagedFields {
		if next.ManagedFields[i].Subresource == "status" && next.ManagedFields[i].Manager == "kubelet" {
			next.ManagedFields[i].Time = &at
		}
	}
	next.Status.Images[0].SizeBytes = int64(version)
	return next
}

func TestHeartbeatIsNotDecoded(t *testing.T) {
	r := newReader(t, newTrimming(plain))
	node := realisticNode(0)
	first := r.read(node)
	second := r.read(heartbeat(node, 1000001))
	if second == first || second.ResourceVersion != "1000001" || first.ResourceVersion != node.ResourceVersion {
		t.Errorf("the versions are %q and %q", first.ResourceVersion, second.ResourceVersion)
	}
	labels := func(node *Node) uintptr { return reflect.ValueOf(node.Labels).Pointer() }
	if labels(first) != labels(second) {
		t.Error("it was decoded")
	}
	changed := heartbeat(node, 1000002)
	changed.Labels["team"] = "search"
	if third := r.read(changed); third.Labels["team"] != "search" || second.Labels["team"] != node.Labels["team"] {
		t.Errorf("the label is %q, and was %q", third.Labels["team"], second.Labels["team"])
	}
}

// TestRecalledIsAsDecoded changes nodes at random, both in fields that are kept
// and in others.
func TestRecalledIsAsDecoded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	changes := []func(*corev1.Node){
		func(node *corev1.Node) { node.Labels["team"] = fmt.Sprint(random.IntN(2)) },
		func(node *corev1.Node) { node.Annotations[v1.AppliedAnnotation] = fmt.Sprint(random.IntN(2)) },
		func(node *corev1.Node) { node.UID = types.UID(fmt.Sprint(random.IntN(2))) },
		func(node *corev1.Node) { node.Spec.Taints[0].Value = fmt.Sprint(random.IntN(2)) },
		func(node *corev1.Node) { node.Spec.Unschedulable = !node.Spec.Unschedulable },
		func(node *corev1.Node) {
			status := []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}[random.IntN(2)]
			node.Status.Conditions[3].Status = status
		},
		func(node *corev1.Node) {
			node.ManagedFields[4].FieldsV1 = metav1.NewFieldsV1(fmt.Sprintf(`{"f:metadata":{"f:labels":{"f:team%d":{}}}}`, random.IntN(2)))
		},
		func(node *corev1.Node) { node.Generation = random.Int64N(2) },
	}
	plainly, recalling := newReader(t, plain), newReader(t, newTrimming(plain))
	nodes, kept := make([]*corev1.Node, 20), make([]*Node, 20)
	for i := range nodes {
		nodes[i] = realisticNode(i)
	}
	recalled := 0
	for version := range 3000 {
		i := random.IntN(len(nodes))
		nodes[i] = heartbeat(nodes[i], 900+version)
		if random.IntN(2) == 0 {
			changes[random.IntN(len(changes))](nodes[i])
		}
		want, got := plainly.read(nodes[i]), recalling.read(nodes[i])
		if diff := cmp.Diff(want, got, asKept); diff != "" {
			t.Fatalf("another state is kept (-decoded +recalled):\n%s", diff)
		}
		if kept[i] != nil && len(kept[i].Labels) > 0 && reflect.ValueOf(kept[i].Labels).Pointer() == reflect.ValueOf(got.Labels).Pointer() {
			recalled++
		}
		kept[i] = got
	}
	if recalled < 1000 || recalled > 2500 {
		t.Errorf("%d of 3,000 states were recalled", recalled)
	}
}

// FuzzRecall: any input, read twice and with another version, is kept as it
// would be without recalling.
func FuzzRecall(f *testing.F) {
	next := realisticNode(0)
	next.ResourceVersion = "1000007" // of as many digits: it is recalled
	f.Add(enveloped(f, plain, realisticNode(0)), enveloped(f, plain, next))
	f.Add(enveloped(f, plain, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "1"}}), []byte{})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		whole, _ := decoders(t, plain)
		recalled, _ := decoders(t, newTrimming(plain))
		var kept []runtime.Object // a cache would
		for _, encoded := range [][]byte{first, first, second, first, second} {
			want, wantErr := runtime.Decode(whole, encoded)
			got, gotErr := runtime.Decode(recalled, encoded)
			if (wantErr == nil) != (gotErr == nil) {
				t.Fatalf("error is %v, want %v", gotErr, wantErr)
			}
			if wantErr == nil {
				sameKept(t, want, got)
			}
			kept = append(kept, got)
		}
		goruntime.KeepAlive(kept)
	})
}

func TestRecallForgetsWhoIsGone(t *testing.T) {
	recall := newRecall()
	r := newReader(t, trimming{plain, recall})
	kept := []*Node{}
	for i := range 10 * leastSweep {
		node := r.read(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i), ResourceVersion: "1"}})
		if i%100 == 0 {
			kept = append(kept, node)
		}
		if i%500 == 0 {
			goruntime.GC()
		}
	}
	if known := len(recall.known); known > 2*leastSweep {
		t.Errorf("%d nodes are known, of which there are %d", known, len(kept))
	}
	for _, node := range kept {
		if recall.known[node.Name].node.Value() != node {
			t.Errorf("node %q was forgotten", node.Name)
		}
	}
}

// An old watch may still be read while a new one begins.
func TestRecallIsSharedByWatches(t *testing.T) {
	serializer := newTrimming(plain)
	var wg sync.WaitGroup
	for range 4 {
		r := newReader(t, serializer)
		wg.Go(func() {
			node := realisticNode(0)
			for i := range 200 {
				node = heartbeat(node, i)
				if got := r.read(node); got.ResourceVersion != fmt.Sprint(i) || got.Labels["team"] != node.Labels["team"] {
					t.Errorf("version %d is %q", i, got.ResourceVersion)
				}
			}
		})
	}
	wg.Wait()
}
