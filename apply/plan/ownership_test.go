package plan

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
			owners := &coOwners{object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{ManagedFields: c.managed}}}
			for range 2 { // what was read once is remembered
				if owners.label(key) != c.label || owners.annotation(key) != c.annotation {
					t.Errorf("label %v, annotation %v: %s", owners.label(key), owners.annotation(key), c.reason)
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
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{ManagedFields: c.managed}}
			if got := applied(node).Has(taintsPath); got != c.want {
				t.Errorf("owned: %v: %s", got, c.reason)
			}
		})
	}
}

// What another tool applies at the same value stays when we let go, and goes
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
