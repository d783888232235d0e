package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// histories is how many ways to the same pools are tried for each set of them.
const histories = 4

// TestHistoryMakesNoDifference: what a node has of the pools that there are depends on
// them and on the node alone. Whatever pools came, changed and went before, in whatever
// order, and whatever was written meanwhile and what a kill or a fault kept from being
// written: with the same pools, and nobody else changing the node, it comes to have
// the same labels, annotations and taints.
func TestHistoryMakesNoDifference(t *testing.T) {
	s, disputed := newServer(), 0
	for seed := range uint64(worlds / 2) {
		w := newWorld(seed)
		// What was taken over or adopted stays so when a pool's policy changes, and what
		// is paused stays as it is: that is a history that counts.
		w.policies, w.held = []v1.ConflictPolicy{pick(w.r, []v1.ConflictPolicy{v1.ReportConflicts, v1.TakeOver})}, false
		start := w.node
		final := map[string]*v1.NodePool{}
		for _, name := range worldPools {
			if !w.oneIn(4) {
				final[name] = w.pool(name)
				final[name].Spec.NodeNames, final[name].Spec.Selector = []string{"n"}, nil
				final[name].CreationTimestamp = metav1.Unix(int64(1+w.r.IntN(3)), 0)
			}
		}
		for _, pool := range final {
			if final[pool.Spec.Parent] == nil {
				pool.Spec.Parent = "" // else it could not be carried out, and would hold still
			}
		}
		var want map[Field]map[string]string
		for history := range histories {
			w.node, w.pools = start, map[string]*v1.NodePool{}
			w.arriveAt(t, s, final, history == 0)
			w.node, _ = s.write(t, w.node, w.expansion())
			settled, p := s.write(t, w.node, w.expansion())
			if !p.NoOp() {
				t.Errorf("seed %d, history %d does not come to rest", seed, history)
			}
			got := standing(settled)
			if want == nil {
				want = got
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("seed %d: the node (-at once +by history %d):\n%s", seed, history, diff)
			}
			disputed += len(slices.DeleteFunc(conflictsOf(p), func(c Conflict) bool { return c.Older == "" }))
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	if disputed < worlds/2 {
		t.Errorf("only %d keys were disputed", disputed)
	}
}

// arriveAt lets pools come in some order, with others that go again, until those of
// the final set are there. Most of the time the plan is carried out in between.
func (w *world) arriveAt(t *testing.T, s server, final map[string]*v1.NodePool, atOnce bool) {
	t.Helper()
	if !atOnce {
		names := slices.Sorted(maps.Keys(final))
		w.r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			for range w.r.IntN(3) {
				w.changePools()
				if w.oneIn(2) {
					w.node, _ = s.write(t, w.node, w.expansion())
				}
			}
			w.pools[name] = final[name]
			if w.oneIn(2) {
				w.node, _ = s.write(t, w.node, w.expansion())
			}
		}
	}
	w.pools = maps.Clone(final)
}

// large are so many annotations of 4,096 bytes and a little.
func large(count int, r *rand.Rand) map[string]v1.AnnotationValue {
	values := map[string]v1.AnnotationValue{}
	for i := range count {
		values[fmt.Sprint("large-", r.IntN(8), "-", i)] = v1.AnnotationValue(fmt.Sprintf("%04096d", i))
	}
	return values
}

func annotationBytesOf(annotations map[string]string) int {
	size := 0
	for key, value := range annotations {
		size += len(key) + len(value)
	}
	return size
}

// TestRoom: of what pools want on a node, what does not fit is left out, annotations first, those of
// the strongest pool last.
func TestRoom(t *testing.T) {
	s := newServer()
	full := func(name string, priority int32, count int) *v1.NodePool {
		pool := onNode(name, v1.NodePoolSpec{Priority: priority, Annotations: map[string]v1.AnnotationValue{}})
		for i := range count {
			pool.Spec.Annotations[fmt.Sprintf("%s-%03d", name, i)] = v1.AnnotationValue(fmt.Sprintf("%01000d", i))
		}
		return pool
	}
	quarantine := onNode("quarantine", v1.NodePoolSpec{Priority: -5, Taints: []v1.Taint{{Key: "q", Effect: "NoExecute"}}})
	const fit = 52 // annotations of 1,000 bytes
	check := func(t *testing.T, p *NodePlan, denied map[string]int) {
		t.Helper()
		got := map[string]int{}
		for _, conflict := range conflictsOf(p) {
			if !conflict.NoRoom {
				t.Errorf("another conflict: %s", conflict)
			}
			got[conflict.Pool+" "+string(conflict.Field)]++
		}
		if diff := cmp.Diff(denied, got, cmpEmpty); diff != "" {
			t.Errorf("what does not fit (-want +got):\n%s", diff)
		}
	}
	t.Run("one pool fills its room", func(t *testing.T) {
		node, p := s.write(t, newNode("n"), expand(full("big", 1000, 64), quarantine))
		if get := standing(node)[Taint]["q:NoExecute"]; len(node.Taints) != 1 || get != "" {
			t.Errorf("taints %v", node.Taints)
		}
		check(t, p, map[string]int{"big annotation": 64 - fit})
		if bytes := annotationBytesOf(node.Annotations); bytes > maxRoom || bytes < maxRoom-4096 {
			t.Errorf("the annotations take %d bytes of %d", bytes, maxRoom)
		}
		if again, err := Node(node, expand(full("big", 1000, 64), quarantine)); err != nil || !again.NoOp() {
			t.Errorf("a second plan is due: %v", err)
		}
	})
	t.Run("the strongest goes first", func(t *testing.T) {
		node, _ := s.write(t, newNode("n"), expand(full("weak", 0, 30)))
		node, p := s.write(t, node, expand(full("weak", 0, 30), full("strong", 1, 30)))
		check(t, p, map[string]int{"weak annotation": 60 - fit})
		if _, p = s.write(t, node, expand(full("weak", 0, 30))); len(p.Conflicts) > 0 {
			t.Errorf("the strong one has gone, and the other lacks %d", len(p.Conflicts))
		}
	})
	t.Run("a value that would come back", func(t *testing.T) {
		taking := onNode("taking", v1.NodePoolSpec{
			Annotations: map[string]v1.AnnotationValue{"k": "1"}, Labels: map[string]v1.LabelValue{"l": "1"}, ConflictPolicy: v1.TakeOver,
		})
		for name, was := range map[string]string{"before": "", "later": "0"} {
			node := newNode("n")
			if was != "" {
				node.Annotations = map[string]string{"k": was}
				node, _ = s.write(t, node, expand(taking))
				node = node.DeepCopy()
			}
			annotate(node, "k", strings.Repeat("x", 128<<10))
			node, p := s.write(t, node, expand(taking))
			check(t, p, map[string]int{"taking annotation": 1})
			if node.Labels["l"] != "1" || len(node.Annotations["k"]) != 128<<10 {
				t.Errorf("%s: it has the labels %v, and an annotation of %d bytes", name, node.Labels, len(node.Annotations["k"]))
			}
		}
	})
}

// TestConflictsOfManyPools: what is kept of the conflicts of a node grows with the
// pools, and not with the pools times their keys.
func TestConflictsOfManyPools(t *testing.T) {
	const count, keysOfEach = 150, 64
	var pools []*v1.NodePool
	node := newNode("n")
	node.Labels = map[string]string{}
	for i := range count {
		pool := onNode(fmt.Sprintf("p%03d", i), v1.NodePoolSpec{Labels: map[string]v1.LabelValue{}})
		for key := range keysOfEach {
			pool.Spec.Labels[fmt.Sprintf("k%02d", key)] = v1.LabelValue(fmt.Sprint("v", i%2))
			node.Labels[fmt.Sprintf("k%02d", key)] = "theirs"
		}
		pools = append(pools, pool)
	}
	p, err := Node(node, expand(pools...))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Conflicts) != keysOfEach || len(conflictsOf(p)) != count*keysOfEach {
		t.Errorf("%d keys, %d conflicts", len(p.Conflicts), len(conflictsOf(p)))
	}
	digest := NewDigest(p.Conflicts)
	if len(digest.keys) != perPool || digest.Count("p000") != keysOfEach || digest.Count("p149") != keysOfEach || digest.Count("q") != 0 {
		t.Errorf("%d keys are kept; %d conflicts of p000", len(digest.keys), digest.Count("p000"))
	}
	want := Conflict{Field: Label, Key: "k00", Pool: "p149", Want: "v1", Have: ptr.To("theirs")}
	if got := digest.Of("p149"); len(got) != perPool || cmp.Diff(want, got[0]) != "" {
		t.Errorf("the first are %v", got)
	}
	if first, more := p.Conflicts[0].First(3); len(first) != 3 || more != count-3 || first[0].Pool != "p000" {
		t.Errorf("first %v and %d more", first, more)
	}
	// Another node of the same pools shares what they want.
	expansion := expand(pools...)
	if _, err := Node(node, expansion); err != nil {
		t.Fatal(err)
	}
	allocations := testing.AllocsPerRun(3, func() {
		p, err := Node(node, expansion)
		if err != nil {
			t.Fatal(err)
		}
		_ = NewDigest(p.Conflicts)
	})
	if allocations > 20*keysOfEach+10*count {
		t.Errorf("a node costs %.0f allocations", allocations)
	}
}

// What a weaker pool wants, be it a taint, takes no room of a label of a stronger one.
func TestRoomGoesByRank(t *testing.T) {
	stronger, weaker := candidate{field: Label, key: "b", rank: 0}, candidate{field: Taint, key: "a", rank: 1}
	if compareCandidates(stronger, weaker) >= 0 {
		t.Error("the taint of the weaker pool comes before the label of the stronger one")
	}
	if annotation := (candidate{field: Annotation, key: "a", rank: 0}); compareCandidates(annotation, weaker) <= 0 {
		t.Error("an annotation comes before a taint")
	}
}
