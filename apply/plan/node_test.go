package plan

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

func onNode(name string, spec v1.NodePoolSpec) *v1.NodePool {
	spec.NodeNames = []string{"n"}
	return define(name, spec)
}

// A plan reports everything that it does, sorted, and the pools that have the node.
func TestNodeReportsWhatItDoes(t *testing.T) {
	s := newServer()
	node := newNode("n")
	node.Labels = map[string]string{"foreign": "x", "taken": "theirs", "disputed": "9"}
	a := onNode("a", v1.NodePoolSpec{
		Labels:      map[string]v1.LabelValue{"foreign": "1", "new": "1"},
		Annotations: map[string]v1.AnnotationValue{"new": "note"},
		Taints:      []v1.Taint{{Key: "k", Value: "1", Effect: "NoSchedule"}, {Key: "k", Value: "2", Effect: "NoExecute"}},
	})
	b := onNode("b", v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"taken": "1", "disputed": "1"}, ConflictPolicy: v1.TakeOver})
	c := onNode("c", v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"disputed": "2"}})
	node, p := s.write(t, node, expand(c, b, a))

	value := ptr.To[string]
	wantChanges := []KeyChange{
		{Field: Annotation, Key: "new", After: value("note"), Pool: "a"},
		{Field: Label, Key: "disputed", Before: value("9"), After: value("1"), Pool: "b"},
		{Field: Label, Key: "new", After: value("1"), Pool: "a"},
		{Field: Label, Key: v1.RoleLabel("a"), After: value(""), Pool: "a"},
		{Field: Label, Key: v1.RoleLabel("b"), After: value(""), Pool: "b"},
		{Field: Label, Key: v1.RoleLabel("c"), After: value(""), Pool: "c"},
		{Field: Label, Key: "taken", Before: value("theirs"), After: value("1"), Pool: "b"},
		{Field: Taint, Key: "k:NoExecute", After: value("2"), Pool: "a"},
		{Field: Taint, Key: "k:NoSchedule", After: value("1"), Pool: "a"},
	}
	if diff := cmp.Diff(wantChanges, p.Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	wantConflicts := []Conflict{
		{Field: Label, Key: "disputed", Pool: "c", Want: "2", Have: value("1"), Older: "b"},
		{Field: Label, Key: "foreign", Pool: "a", Want: "1", Have: value("x")},
	}
	if diff := cmp.Diff(wantConflicts, conflictsOf(p)); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, p.Pools); diff != "" {
		t.Errorf("pools (-want +got):\n%s", diff)
	}
	if releases := p.Releases(); len(releases) != 0 {
		t.Errorf("releases %v", releases)
	}

	_, p = s.write(t, node, expand(b))
	if diff := cmp.Diff([]string{"a", "c"}, p.Releases()); diff != "" {
		t.Errorf("pools that are released (-want +got):\n%s", diff)
	}
}

func TestUnreadableRecord(t *testing.T) {
	node := newNode("n")
	node.Annotations = map[string]string{v1.AppliedAnnotation: fmt.Sprintf(`{"version":%d}`, recordVersion+1)}
	pools := expand(onNode("a", want(Label, "1")))
	p, err := Node(node, pools)
	var unreadable *RecordError
	if p != nil || !errors.As(err, &unreadable) || unreadable.Node != "n" || !errors.Is(err, ErrNewerRecord) {
		t.Errorf("planned %v, %v: it is unknown what is ours there", p, err)
	}
	if _, err := Desired(node, pools); !errors.As(err, &unreadable) {
		t.Errorf("desired: %v", err)
	}
}

// What pools see of a node, and when.
func TestMembership(t *testing.T) {
	selects := func(name, label, value string, spec v1.NodePoolSpec) *v1.NodePool {
		spec.Selector = &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{label: v1.LabelValue(value)}}
		return define(name, spec)
	}
	entry := func(e Entry) Record { return recordOf(Label, e) }
	sets := onNode("sets", want(Label, "1"))
	adopts := onNode("adopts", want(Label, "1"))
	adopts.Spec.ConflictPolicy = v1.Adopt
	without := define("without", v1.NodePoolSpec{Selector: &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpDoesNotExist}}}})
	cases := map[string]struct {
		reason string
		have   *string
		record Record
		pools  []*v1.NodePool
		want   []string
		after  *string
	}{
		"put on by a pool": {
			"pools must not make members for each other",
			ptr.To("1"), entry(Entry{Pool: "sets", Value: "1"}),
			[]*v1.NodePool{sets, selects("follows", key, "1", v1.NodePoolSpec{})},
			[]string{"sets"}, ptr.To("1"),
		},
		"shared": {
			"it is there without the pool, and counts",
			ptr.To("1"), Record{},
			[]*v1.NodePool{sets, selects("follows", key, "1", v1.NodePoolSpec{})},
			[]string{"follows", "sets"}, ptr.To("1"),
		},
		"drift": {
			"a change that is put back must not lead to another pool for a moment: its taints would evict",
			ptr.To("2"), entry(Entry{Pool: "sets", Value: "1"}),
			[]*v1.NodePool{sets, selects("follows", key, "2", v1.NodePoolSpec{})},
			[]string{"sets"}, ptr.To("1"),
		},
		"adopts what it is chosen by": {
			"it must not lose its nodes by that",
			ptr.To("1"), entry(Entry{Pool: "own", Value: "1", Before: ptr.To("1"), Adopted: true}),
			[]*v1.NodePool{selects("own", key, "1", want(Label, "1"))},
			[]string{"own"}, ptr.To("1"),
		},
		"released to somebody else": {
			"from then on the label counts, in the same write",
			ptr.To("2"), entry(Entry{Pool: "gone", Value: "1"}),
			[]*v1.NodePool{selects("follows", key, "2", v1.NodePoolSpec{})},
			[]string{"follows"}, ptr.To("2"),
		},
		"adopted, and released": {
			"a pool that gives up a label takes no node out of another pool, which nobody would have approved",
			ptr.To("1"), entry(Entry{Pool: "gone", Value: "1", Before: ptr.To("1"), Adopted: true}),
			[]*v1.NodePool{selects("follows", key, "1", v1.NodePoolSpec{})},
			[]string{"follows"}, ptr.To("1"),
		},
		"adopted with another value, and released": {
			"the earlier value has led to the pool all the time",
			ptr.To("1"), entry(Entry{Pool: "gone", Value: "1", Before: ptr.To("0"), Adopted: true}),
			[]*v1.NodePool{selects("follows", key, "0", v1.NodePoolSpec{})},
			[]string{"follows"}, ptr.To("0"),
		},
		"adopted, and released where it keeps the node out": {
			"a pool that gives up a label brings no node into another pool",
			ptr.To("1"), entry(Entry{Pool: "gone", Value: "1", Before: ptr.To("1"), Adopted: true}),
			[]*v1.NodePool{without},
			nil, ptr.To("1"),
		},
		"adopted, and released where nobody looks": {
			"then it goes",
			ptr.To("1"), entry(Entry{Pool: "gone", Value: "1", Before: ptr.To("1"), Adopted: true}),
			[]*v1.NodePool{selects("follows", "other", "1", v1.NodePoolSpec{})},
			nil, nil,
		},
		"adopted and still wanted": {
			"what was there before keeps counting",
			ptr.To("1"), entry(Entry{Pool: "adopts", Value: "1", Before: ptr.To("0"), Adopted: true}),
			[]*v1.NodePool{adopts, selects("follows", key, "0", v1.NodePoolSpec{})},
			[]string{"adopts", "follows"}, ptr.To("1"),
		},
	}
	s := newServer()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			node := newNode("n")
			put(node, Label, c.have)
			setRecord(node, c.record)
			node, p := s.write(t, node, expand(c.pools...))
			if diff := cmp.Diff(c.want, p.Pools, cmpEmpty); diff != "" {
				t.Errorf("members: %s (-want +got):\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.after, get(node, Label)); diff != "" {
				t.Errorf("on the node: %s (-want +got):\n%s", c.reason, diff)
			}
			if again, err := Node(node, expand(c.pools...)); err != nil || !again.NoOp() {
				t.Errorf("a second plan is not quiet: %v, %v", again, err)
			}
		})
	}
}

// Keys that belong to others are never taken, whatever the policy: the schema
// refuses such pools, and these are older than it is. What was taken before goes
// back when the pool goes.
func TestKeysOfOthersAreNeverTaken(t *testing.T) {
	s := newServer()
	const taint = "node-role.kubernetes.io/control-plane"
	zone, role := corev1.LabelTopologyZone, v1.RoleLabel("a")
	for _, policy := range []v1.ConflictPolicy{v1.TakeOver, v1.Adopt, v1.ReportConflicts} {
		t.Run(string(policy), func(t *testing.T) {
			pool := define("a", v1.NodePoolSpec{
				ConflictPolicy: policy, Labels: map[string]v1.LabelValue{zone: "x", "free": "x"}, Taints: []v1.Taint{{Key: taint, Value: "x", Effect: "NoSchedule"}},
			})
			start := newNode("n")
			start.Labels = map[string]string{role: "", zone: "y", "free": "y"}
			start.Taints = []corev1.Taint{{Key: taint, Effect: "NoSchedule"}}
			node, p := s.write(t, start, expand(pool))
			if node.Labels[zone] != "y" || node.Taints[0].Value != "" {
				t.Errorf("the zone is %q, the taint %q", node.Labels[zone], node.Taints[0].Value)
			}
			var conflicts []string
			for _, conflict := range p.Conflicts {
				conflicts = append(conflicts, conflict.Key())
			}
			want := []string{zone, taint + ":NoSchedule"}
			if policy == v1.ReportConflicts {
				want = append([]string{"free"}, want...)
			}
			if diff := cmp.Diff(want, conflicts); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}

			equal := start.DeepCopy()
			equal.Labels[zone], equal.Taints[0].Value = "x", "x"
			equal, _ = s.write(t, equal, expand(pool))
			if equal, _ = s.write(t, equal, expand()); equal.Labels[zone] != "x" || len(equal.Taints) != 1 {
				t.Errorf("when the pool goes, equal values go with it: labels %v, taints %v", equal.Labels, equal.Taints)
			}

			taken := start.DeepCopy()
			taken.Labels[zone], taken.Taints[0].Value = "x", "x"
			setRecord(taken, Record{
				Labels: map[string]Entry{zone: {Pool: "a", Value: "x", Before: ptr.To("y"), Adopted: policy == v1.Adopt}},
				Taints: map[render.TaintID]Entry{{Key: taint, Effect: "NoSchedule"}: {Pool: "a", Value: "x", Before: ptr.To(""), Adopted: policy == v1.Adopt}},
			})
			if taken, _ = s.write(t, taken, expand()); taken.Labels[zone] != "y" || len(taken.Taints) != 1 || taken.Taints[0].Value != "" {
				t.Errorf("what was taken does not come back: labels %v, taints %v", taken.Labels, taken.Taints)
			}
		})
	}
}

// A parent that is deleted gives its keys up, and its child stays as it is.
func TestParentOfAChildAtWork(t *testing.T) {
	s := newServer()
	outer, inner := onNode("outer", want(Taint, "outer")), onNode("inner", want(Label, "1"))
	inner.Spec.Parent, outer.Spec.Priority = "outer", 1
	node, _ := s.write(t, newNode("n"), expand(outer, inner))

	orphaned, _ := s.write(t, node, expand(inner))
	if get(orphaned, Taint) != nil || get(orphaned, Label) == nil {
		t.Errorf("after the parent is gone: taints %v, labels %v; want the child's label alone", orphaned.Taints, orphaned.Labels)
	}
}

// One taint key with two effects is two taints: each comes and goes by itself.
func TestTaintsOfOneKey(t *testing.T) {
	s := newServer()
	node := newNode("n")
	foreign := corev1.Taint{Key: key, Value: "theirs", Effect: corev1.TaintEffectNoExecute}
	node.Taints = []corev1.Taint{foreign}
	node, p := s.write(t, node, expand(onNode("a", want(Taint, "ours"))))
	ours := corev1.Taint{Key: key, Value: "ours", Effect: corev1.TaintEffectNoSchedule}
	if diff := cmp.Diff([]corev1.Taint{foreign, ours}, node.Taints); diff != "" || len(p.Conflicts) != 0 {
		t.Errorf("conflicts %v, taints (-want +got):\n%s", p.Conflicts, diff)
	}
	node, _ = s.write(t, node, expand())
	if diff := cmp.Diff([]corev1.Taint{foreign}, node.Taints); diff != "" {
		t.Errorf("after release (-want +got):\n%s", diff)
	}
}
