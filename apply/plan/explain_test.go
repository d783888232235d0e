package plan

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Whose one key is, in each field, and what is about to happen to it.
func TestExplainKey(t *testing.T) {
	policy := func(p v1.ConflictPolicy) func(*v1.NodePool) {
		return func(pool *v1.NodePool) { pool.Spec.ConflictPolicy = p }
	}
	cases := map[string]struct {
		reason   string
		have     *string
		recorded *Entry
		// wants is what pool a wants of the key, nil for nothing.
		wants  *string
		adjust func(*v1.NodePool)
		owner  Owner
		due    bool
		after  *string
		denied bool
	}{
		"put there":        {"settled", ptr.To("1"), &Entry{Pool: "a", Value: "1"}, ptr.To("1"), nil, OfPool, false, ptr.To("1"), false},
		"to be put there":  {"nothing stands in the way", nil, nil, ptr.To("1"), nil, OfPool, true, ptr.To("1"), false},
		"drift":            {"what somebody changed is put back", ptr.To("9"), &Entry{Pool: "a", Value: "1"}, ptr.To("1"), nil, OfPool, true, ptr.To("1"), false},
		"taken away":       {"it is put back too", nil, &Entry{Pool: "a", Value: "1"}, ptr.To("1"), nil, OfPool, true, ptr.To("1"), false},
		"to go":            {"no longer wanted", ptr.To("1"), &Entry{Pool: "a", Value: "1"}, nil, nil, OfPool, true, nil, false},
		"to be given back": {"the earlier value returns", ptr.To("1"), &Entry{Pool: "a", Value: "1", Before: ptr.To("0")}, nil, nil, OfPool, true, ptr.To("0"), false},
		"to be forgotten":  {"no longer wanted, and changed by somebody", ptr.To("9"), &Entry{Pool: "a", Value: "1"}, nil, nil, OfPool, true, ptr.To("9"), false},
		"shared":           {"equal, and somebody else's", ptr.To("1"), nil, ptr.To("1"), nil, Shared, false, ptr.To("1"), false},
		"adopted now":      {"equal, and about to be the pool's", ptr.To("1"), nil, ptr.To("1"), policy(v1.Adopt), OfPool, true, ptr.To("1"), false},
		"taken over now":   {"different, and about to be the pool's", ptr.To("9"), nil, ptr.To("1"), policy(v1.TakeOver), OfPool, true, ptr.To("1"), false},
		"conflict":         {"different, and it stays", ptr.To("9"), nil, ptr.To("1"), nil, OfOthers, false, ptr.To("9"), true},
		"not wanted":       {"nobody asks for it", ptr.To("9"), nil, nil, nil, OfOthers, false, ptr.To("9"), false},
		"held":             {"the pool is paused, and lets it be", ptr.To("9"), &Entry{Pool: "a", Value: "1"}, ptr.To("1"), func(pool *v1.NodePool) { faulty(pool) }, OfPool, false, ptr.To("9"), false},
	}
	for name, c := range cases {
		for _, field := range []Field{Label, Annotation, Taint} {
			t.Run(name+"/"+string(field), func(t *testing.T) {
				node := newNode("n")
				put(node, field, c.have)
				if c.recorded != nil {
					setRecord(node, recordOf(field, *c.recorded))
				}
				pool := onNode("a", v1.NodePoolSpec{})
				if c.wants != nil {
					pool = onNode("a", want(field, *c.wants))
				}
				if c.adjust != nil {
					c.adjust(pool)
				}
				e := Explain(node, expand(pool), NodeFacts{})
				k := statusOf(t, e, field, keyIn(field))
				after := k.Have
				if k.Change != nil {
					after = k.Change.After
				}
				if k.Owner != c.owner || k.Due() != c.due || (k.Conflicts != nil) != c.denied {
					t.Errorf("owner %s, due %v, conflicts %v: %s", k.Owner, k.Due(), k.Conflicts, c.reason)
				}
				if diff := cmp.Diff(c.after, after); diff != "" {
					t.Errorf("value afterwards: %s (-want +got):\n%s", c.reason, diff)
				}
				if wantPool := map[bool]string{true: "a"}[c.owner == OfPool]; k.Pool != wantPool {
					t.Errorf("it is reported to be of pool %q", k.Pool)
				}
				if c.owner == Shared && !slices.Equal(k.WantedBy, []string{"a"}) {
					t.Errorf("wanted by %v", k.WantedBy)
				}
			})
		}
	}
}

func statusOf(t *testing.T, e *Explanation, field Field, key string) KeyStatus {
	t.Helper()
	for _, k := range e.Keys {
		if k.Field == field && k.Key == key {
			return k
		}
	}
	t.Fatalf("%s %s is not explained: %v", field, key, e.Keys)
	return KeyStatus{}
}

func TestExplainForeignKeys(t *testing.T) {
	cases := map[string]Owner{
		"team": OfOthers, "example.com/team": OfOthers, "notkubernetes.io/x": OfOthers,
		"kubernetes.io/arch": OfKubernetes, "topology.kubernetes.io/zone": OfKubernetes, "k8s.io/cloud-provider-aws": OfKubernetes,
		"node-role.kubernetes.io/worker": OfOthers, "node-restriction.kubernetes.io/tenant": OfOthers,
		"kubectl.kubernetes.io/last-applied-configuration": OfOthers,
	}
	for key, owner := range cases {
		node := newNode("n")
		node.Labels = map[string]string{key: "x"}
		if got := statusOf(t, Explain(node, expand(), NodeFacts{}), Label, key).Owner; got != owner {
			t.Errorf("%s is reported to be of %s, want %s", key, got, owner)
		}
	}
}

// Without its record it is unknown whose the keys of a node are; who set them
// is reported all the same, and that may be us.
func TestExplainUnreadableRecord(t *testing.T) {
	node := newNode("n")
	node.Labels = map[string]string{"ours": "1", "kubernetes.io/arch": "amd64"}
	node.Annotations = map[string]string{v1.AppliedAnnotation: "{", "note": "x"}
	node.Taints = []corev1.Taint{{Key: "k", Effect: "NoSchedule"}}
	node.ManagedFields = []metav1.ManagedFieldsEntry{managed(v1.FieldManager, metav1.ManagedFieldsOperationApply, "", `{"f:metadata":{"f:labels":{"f:ours":{}}}}`)}
	e := Explain(node, expand(onNode("a", want(Label, "1"))), NodeFacts{})
	if e.Unreadable == nil || e.Plan != nil || !slices.Equal(e.Members, []string{"a"}) {
		t.Errorf("unreadable %v, plan %v, members %v", e.Unreadable, e.Plan, e.Members)
	}
	owners := map[string]Owner{}
	for _, k := range e.Keys {
		owners[k.Key] = k.Owner
		if k.Key == "ours" && !slices.Equal(k.SetBy, []string{v1.FieldManager}) {
			t.Errorf("set by %v", k.SetBy)
		}
		if k.Due() {
			t.Errorf("a write of %s is due", k.Key)
		}
	}
	want := map[string]Owner{"ours": OfUnknown, "kubernetes.io/arch": OfKubernetes, v1.AppliedAnnotation: OfController, "note": OfUnknown, "k:NoSchedule": OfUnknown}
	if diff := cmp.Diff(want, owners); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}

// explanationIsThePlan: every key of the node is explained once, nothing is
// called due that the plan does not write, and the other way round; what is
// called shared or somebody else's is not touched.
func (at step) explanationIsThePlan(t *testing.T) {
	t.Helper()
	for _, node := range []*NodeState{at.before, at.node} {
		e, p := Explain(node, at.expansion(), NodeFacts{}), mustPlan(t, node, at)
		if diff := cmp.Diff(p.Pools, e.Members); diff != "" {
			t.Errorf("members (-plan +explanation):\n%s", diff)
		}
		had, recorded, explained := standing(node), entries(p.Recorded()), map[Field]map[string]bool{Label: {}, Annotation: {}, Taint: {}}
		changes, conflicts, due := 0, 0, false
		for _, k := range e.Keys {
			if explained[k.Field][k.Key] {
				t.Errorf("%s %s is explained twice", k.Field, k.Key)
			}
			explained[k.Field][k.Key] = true
			if k.Change != nil {
				changes++
			}
			conflicts += len(k.Conflicts) + k.MoreConflicts
			due = due || k.Due()
			if k.Owner != OfPool && (k.Due() || k.Recorded != nil || k.Planned != nil) {
				t.Errorf("%s %s is reported to be of %s: %+v", k.Field, k.Key, k.Owner, k)
			}
		}
		if changes != len(p.Changes) || conflicts != len(conflictsOf(p)) || due == p.NoOp() {
			t.Errorf("%d of %d changes and %d of %d conflicts are explained; due %v, quiet %v", changes, len(p.Changes), conflicts, len(conflictsOf(p)), due, p.NoOp())
		}
		for field := range explained {
			for key := range had[field] {
				if !explained[field][key] {
					t.Errorf("%s %s is not explained", field, key)
				}
			}
			for key := range recorded[field] {
				if !explained[field][key] {
					t.Errorf("%s %s, which is in the record, is not explained", field, key)
				}
			}
		}
	}
}

func mustPlan(t *testing.T, node *NodeState, at step) *NodePlan {
	t.Helper()
	p, err := Node(node, at.expansion())
	if err != nil {
		t.Fatal(err)
	}
	return p
}
