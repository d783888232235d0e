package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func managed(manager string, operation metav1.ManagedFieldsOperationType, subresource, fields string) metav1.ManagedFieldsEntry {
	entry := metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, APIVersion: "v1", FieldsType: "FieldsV1", Subresource: subresource}
	if fields != "" {
		entry.FieldsV1 = metav1.NewFieldsV1(fields)
	}
	return entry
}

func TestCoOwned(t *testing.T) {
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	ownsLabel := `{"f:metadata":{"f:labels":{"f:` + key + `":{}}}}`
	ownsAnnotation := `{"f:metadata":{"f:annotations":{"f:` + key + `":{}}}}`
	cases := map[string]struct {
		reason            string
		managed           []metav1.ManagedFieldsEntry
		label, annotation bool
	}{
		"nobody":             {"no field is managed", nil, false, false},
		"another applies it": {"it would put it back at once", []metav1.ManagedFieldsEntry{managed("argo", apply, "", ownsLabel)}, true, false},
		"another annotation": {"each field for itself", []metav1.ManagedFieldsEntry{managed("argo", apply, "", ownsAnnotation)}, false, true},
		"the second of two":  {"any of them will do", []metav1.ManagedFieldsEntry{managed("argo", apply, "", ownsAnnotation), managed("flux", apply, "", ownsLabel)}, true, true},
		"we apply it":        {"that is no other", []metav1.ManagedFieldsEntry{managed(v1.FieldManager, apply, "", ownsLabel)}, false, false},
		"an update":          {"an update owns what it changed, and then the value is not ours", []metav1.ManagedFieldsEntry{managed("kubectl", update, "", ownsLabel)}, false, false},
		"the status":         {"who applies it there applies it", []metav1.ManagedFieldsEntry{managed("kubelet", apply, "status", ownsLabel)}, true, false},
		"unreadable":         {"the API server writes no such thing; nothing can be said", []metav1.ManagedFieldsEntry{managed("argo", apply, "", "?"), managed("argo", apply, "", "")}, false, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			owners := &owners{object: &NodeState{ManagedFields: c.managed}}
			for range 2 { // what was read once is remembered
				label, annotation := owners.alsoApplied(labelPath(key)), owners.alsoApplied(annotationPath(key))
				if label != c.label || annotation != c.annotation {
					t.Errorf("label %v, annotation %v: %s", label, annotation, c.reason)
				}
			}
		})
	}
}

func TestApplied(t *testing.T) {
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	owns := `{"f:spec":{"f:taints":{}}}`
	cases := map[string]struct {
		reason  string
		managed []metav1.ManagedFieldsEntry
		want    bool
	}{
		"ours":         {"our applies own the list", []metav1.ManagedFieldsEntry{managed("argo", apply, "", "{}"), managed(v1.FieldManager, apply, "", owns)}, true},
		"our update":   {"what a merge patch of ours owns no apply removes", []metav1.ManagedFieldsEntry{managed(v1.FieldManager, update, "", owns)}, false},
		"our status":   {"an apply of the node does not touch it", []metav1.ManagedFieldsEntry{managed(v1.FieldManager, apply, "status", owns)}, false},
		"another's":    {"it is theirs", []metav1.ManagedFieldsEntry{managed("argo", apply, "", owns)}, false},
		"not readable": {"nothing can be said", []metav1.ManagedFieldsEntry{managed(v1.FieldManager, apply, "", "?")}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			node := &NodeState{ManagedFields: c.managed}
			if got := applied(node).Has(taintsPath); got != c.want {
				t.Errorf("owned: %v: %s", got, c.reason)
			}
		})
	}
}

// What another tool applies at the same value stays when we release it, and goes
// with us when it stopped doing so.
func TestCoOwnedKeysStay(t *testing.T) {
	s := newServer()
	for _, field := range []Field{Label, Annotation} {
		for name, c := range map[string]struct {
			reason string
			stops  bool
			want   bool
		}{
			"still applied": {"the other would put it back at once", false, true},
			"no longer":     {"nobody but us holds it", true, false},
		} {
			t.Run(name+"/"+string(field), func(t *testing.T) {
				pool := pools(field, map[string]wish{"a": {value: "1"}})
				node, _ := s.write(t, newNode("n"), expand(pool...))
				node = s.apply(t, node, "argo", body(map[string]any{fieldName(field): map[string]any{key: "1"}}))
				if c.stops {
					node = s.apply(t, node, "argo", body(nil))
				}
				node, _ = s.write(t, node, expand())
				if value := get(node, field); (value != nil) != c.want {
					t.Errorf("there: %v: %s", value != nil, c.reason)
				}
			})
		}
	}
}

// Who has set a value: whoever the managed fields name, but for us.
func TestSetBy(t *testing.T) {
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	ownsLabel := `{"f:metadata":{"f:labels":{"f:` + key + `":{}}}}`
	ownsTaints := `{"f:spec":{"f:taints":{}}}`
	cases := map[string]struct {
		reason        string
		managed       []metav1.ManagedFieldsEntry
		label, taints []string
	}{
		"nobody":     {"managed fields can be removed", nil, nil, nil},
		"an update":  {"the ordinary case", []metav1.ManagedFieldsEntry{managed("kubectl-label", update, "", ownsLabel)}, []string{"kubectl-label"}, nil},
		"an apply":   {"so do other tools", []metav1.ManagedFieldsEntry{managed("argo", apply, "", ownsLabel)}, []string{"argo"}, nil},
		"the status": {"a kubelet may set labels with its status", []metav1.ManagedFieldsEntry{managed("kubelet", update, "status", ownsLabel)}, []string{"kubelet"}, nil},
		"several": {
			"sorted, and each once",
			[]metav1.ManagedFieldsEntry{managed("b", update, "", ownsLabel), managed("c", apply, "", ownsLabel), managed("a", apply, "", ownsLabel), managed("b", apply, "status", ownsLabel)},
			[]string{"a", "b", "c"}, nil,
		},
		"we":         {"we are nobody else", []metav1.ManagedFieldsEntry{managed(v1.FieldManager, apply, "", ownsLabel), managed(v1.FieldManager, update, "", ownsTaints)}, nil, nil},
		"the taints": {"the list has an owner as a whole", []metav1.ManagedFieldsEntry{managed("kubectl-taint", update, "", ownsTaints)}, nil, []string{"kubectl-taint"}},
		"no name":    {"that says nothing", []metav1.ManagedFieldsEntry{managed("", update, "", ownsLabel)}, nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for range 2 { // what was read once is remembered, and not changed by what is asked
				owners := &owners{object: &NodeState{ManagedFields: c.managed}}
				if diff := cmp.Diff(c.label, owners.setBy(labelPath(key))); diff != "" {
					t.Errorf("label: %s (-want +got):\n%s", c.reason, diff)
				}
				if diff := cmp.Diff(c.taints, owners.setBy(taintsPath)); diff != "" {
					t.Errorf("taints: %s (-want +got):\n%s", c.reason, diff)
				}
			}
		})
	}
}

// tracked is a new node whose fields are booked from the start, as those of every
// node of a cluster are.
func tracked(t *testing.T, s server) *NodeState {
	return s.apply(t, newNode("n"), "creator", body(nil))
}

// A conflict names who set the value that stands there, as the API server books
// it: whoever changed it last, and whoever applies the same.
func TestConflictNamesWhoSetTheValue(t *testing.T) {
	s := newServer()
	sets := func(field Field, value string) func(*NodeState) {
		return func(node *NodeState) { put(node, field, &value) }
	}
	for _, field := range []Field{Label, Annotation, Taint} {
		t.Run(string(field), func(t *testing.T) {
			setBy := func(node *NodeState, stage string, managers ...string) {
				t.Helper()
				_, p := s.write(t, node, expand(onNode("a", want(field, "ours"))))
				if len(p.Conflicts) != 1 {
					t.Fatalf("%s: conflicts %v, want one", stage, p.Conflicts)
				}
				if diff := cmp.Diff(managers, p.Conflicts[0].reason.SetBy); diff != "" {
					t.Errorf("%s (-want +got):\n%s", stage, diff)
				}
			}
			node := s.update(t, tracked(t, s), "kubectl-label", sets(field, "theirs"))
			setBy(node, "set by one", "kubectl-label")
			node = s.update(t, node, "cloud", func(node *NodeState) { node.Unschedulable = true })
			setBy(node, "another field is set by another", "kubectl-label")
			node = s.update(t, node, "script", sets(field, "theirs"))
			setBy(node, "set once more to what it is", "kubectl-label")
			node = s.update(t, node, "script", sets(field, "changed"))
			setBy(node, "changed by another", "script")
			if field != Taint {
				node = s.apply(t, node, "argo", body(map[string]any{fieldName(field): map[string]any{key: "changed"}}))
				setBy(node, "applied by another as well", "argo", "script")
			}
		})
	}
}

// Once we have written the list of taints, its owner is us, and nobody can tell
// any more who put a foreign taint there.
func TestConflictOverATaintOfOurListNamesNobody(t *testing.T) {
	s := newServer()
	theirs := "theirs"
	node := s.update(t, tracked(t, s), "kubectl-taint", func(node *NodeState) { put(node, Taint, &theirs) })
	pool := onNode("a", want(Taint, "ours"))
	pool.Spec.Taints = append(pool.Spec.Taints, v1.Taint{Key: "another", Effect: "NoSchedule"})
	node, p := s.write(t, node, expand(pool))
	if len(p.Conflicts) != 1 || len(p.Conflicts[0].reason.SetBy) != 1 {
		t.Errorf("before our write: %v", p.Conflicts)
	}
	_, p = s.write(t, node, expand(pool))
	if len(p.Conflicts) != 1 || p.Conflicts[0].reason.SetBy != nil {
		t.Errorf("after our write: %v", p.Conflicts)
	}
}

// A key that another applier has put there as well stays on release, if a kubelet
// might have set it. Of what no kubelet may set nothing stays: the other may be one.
func TestWhatAKubeletMayNotSetIsReleased(t *testing.T) {
	s := newServer()
	role := v1.RoleLabel("payments")
	for key, stays := range map[string]bool{
		"example.com/team":                      true,
		"team":                                  true,
		"node.kubernetes.io/instance-type":      true,
		"node-restriction.kubernetes.io/tenant": false,
		role:                                    false,
		"x.node-restriction.kubernetes.io/tenant":  false,
		"something.k8s.io/that-no-kubelet-reports": false,
	} {
		spec := v1.NodePoolSpec{}
		if key != role { // which the pool puts on anyway
			spec.Labels = map[string]v1.LabelValue{key: "wall"}
		}
		node, _ := s.write(t, tracked(t, s), expand(onNode("payments", spec)))
		value, carried := node.Labels[key]
		if !carried {
			t.Errorf("label %s is not put on", key)
		}
		node = s.apply(t, node, "any-name", body(map[string]any{"labels": map[string]any{key: value}}))
		node, _ = s.write(t, node, expand())
		if _, stands := node.Labels[key]; stands != stays {
			t.Errorf("label %s, which another applies as well, stays: %v, want %v", key, stands, stays)
		}
	}
}

// What is taken over comes back as its owner wants it by then.
func TestTakeOverFollowsTheOwner(t *testing.T) {
	for _, field := range []Field{Label, Annotation, Taint} {
		sets := func(value *string) func(*NodeState) {
			return func(node *NodeState) { put(node, field, value) }
		}
		cases := map[string]struct {
			reason string
			owner  []*string // what it sets it to while it is taken over
			want   *string
		}{
			"rests":                  {"as it was", nil, ptr.To("0")},
			"moves it":               {"the latest", []*string{ptr.To("2")}, ptr.To("2")},
			"moves it twice":         {"the latest", []*string{ptr.To("2"), ptr.To("3")}, ptr.To("3")},
			"withdraws it":           {"nothing", []*string{nil}, nil},
			"moves and withdraws it": {"nothing", []*string{ptr.To("2"), nil}, nil},
			"withdraws, comes back":  {"the latest", []*string{nil, ptr.To("2")}, ptr.To("2")},
		}
		for name, c := range cases {
			t.Run(string(field)+"/"+name, func(t *testing.T) {
				s := newServer()
				spec := want(field, "ours")
				spec.ConflictPolicy = v1.TakeOver
				pool := onNode("a", spec)
				node := s.update(t, tracked(t, s), "nfd-master", sets(ptr.To("0")))
				node, _ = s.write(t, node, expand(pool))
				for _, value := range c.owner {
					node = s.update(t, node, "nfd-master", sets(value))
					node, _ = s.write(t, node, expand(pool))
					if have := get(node, field); have == nil || *have != "ours" {
						t.Fatalf("it is not put back: %v", have)
					}
				}
				node, _ = s.write(t, node, expand())
				if diff := cmp.Diff(c.want, get(node, field)); diff != "" {
					t.Errorf("on release: %s (-want +got):\n%s", c.reason, diff)
				}
			})
		}
	}
	s := newServer()
	spec := want(Label, "ours")
	spec.ConflictPolicy = v1.TakeOver
	node := s.update(t, tracked(t, s), "nfd-master", func(node *NodeState) { put(node, Label, ptr.To("0")) })
	node, _ = s.write(t, node, expand(onNode("a", spec)))
	node = s.apply(t, node, "argo", body(map[string]any{"labels": map[string]any{key: "ours"}}))
	if node, _ = s.write(t, node, expand()); get(node, Label) == nil || *get(node, Label) != "ours" {
		t.Errorf("somebody applies our value since, and it became %v", get(node, Label))
	}
}
