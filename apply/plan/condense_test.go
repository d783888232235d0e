package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

func TestCondense(t *testing.T) {
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	const (
		label      = `{"f:metadata":{"f:labels":{"f:team":{}}}}`
		annotation = `{"f:metadata":{"f:annotations":{"f:note":{}}}}`
		taints     = `{"f:spec":{"f:taints":{}}}`
		status     = `{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{"f:status":{}}}}}`
	)
	cases := map[string]struct {
		reason     string
		have, want []metav1.ManagedFieldsEntry
	}{
		"nothing":    {"there is nothing to keep", nil, nil},
		"the status": {"no plan reads it", []metav1.ManagedFieldsEntry{managed("kubelet", update, "status", status)}, nil},
		"a label among all else": {
			"what pools may want stays, the rest goes",
			[]metav1.ManagedFieldsEntry{managed("kubelet", update, "", `{"f:metadata":{"f:annotations":{".":{},"f:note":{}},"f:labels":{".":{},"f:team":{}},"f:finalizers":{"v:\"x\"":{}}},"f:spec":{"f:providerID":{},"f:taints":{}}}`)},
			[]metav1.ManagedFieldsEntry{managed("kubelet", update, "", `{"f:metadata":{"f:annotations":{"f:note":{}},"f:labels":{"f:team":{}}},"f:spec":{"f:taints":{}}}`)},
		},
		"a label by way of the status": {
			"who sets it there has set it",
			[]metav1.ManagedFieldsEntry{managed("kubelet", update, "status", label), managed("argo", apply, "status", annotation)},
			[]metav1.ManagedFieldsEntry{managed("argo", apply, "", annotation), managed("kubelet", update, "", label)},
		},
		"values that each node has for itself": {
			"what stands beside them is read all the same",
			[]metav1.ManagedFieldsEntry{
				managed("a", update, "", `{"f:metadata":{"f:annotations":{"f:note":{}},"f:finalizers":{"v:\"x\"":{}}},"f:spec":{"f:podCIDRs":{".":{},"v:\"10.0.0.0/24\"":{}},"f:taints":{}}}`),
				managed("b", update, "", `{"f:metadata":{"f:labels":{"f:team":{}}},"f:spec":{"f:podCIDRs":{"v:\"10.0.0.0/24\"":{}}}}`),
				managed("c", update, "", `{"f:spec":{"f:podCIDRs":{"v:\"f:taints\"":{}},"f:taints":{}}}`),
			},
			[]metav1.ManagedFieldsEntry{managed("a", update, "", `{"f:metadata":{"f:annotations":{"f:note":{}}},"f:spec":{"f:taints":{}}}`), managed("b", update, "", label), managed("c", update, "", taints)},
		},
		"things of the same names": {
			"they stand elsewhere",
			[]metav1.ManagedFieldsEntry{managed("x", update, "", `{"f:status":{"f:labels":{"f:team":{}},"f:taints":{}}}`)}, nil,
		},
		"ours": {
			"of what is ours a plan reads what we apply, to the last field, and nothing else",
			[]metav1.ManagedFieldsEntry{
				managed(v1.FieldManager, update, "", label), managed(v1.FieldManager, apply, "status", label),
				managed(v1.FieldManager, apply, "", `{"f:spec":{"f:podCIDR":{},"f:taints":{}}}`),
			},
			[]metav1.ManagedFieldsEntry{managed(v1.FieldManager, apply, "", `{"f:spec":{"f:podCIDR":{},"f:taints":{}}}`)},
		},
		"unreadable": {"the API server writes no such thing", []metav1.ManagedFieldsEntry{managed("x", update, "", `"f:labels"`), managed("x", update, "", "")}, nil},
		"the order": {
			"the API server sorts by time: it must not count as a change",
			[]metav1.ManagedFieldsEntry{managed("b", update, "", label), managed("a", update, "", taints), managed("a", apply, "", label)},
			[]metav1.ManagedFieldsEntry{managed("a", apply, "", label), managed("a", update, "", taints), managed("b", update, "", label)},
		},
	}
	var condenser Condenser
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for i := range c.want { // of an entry no more is kept than is asked for
				c.want[i].APIVersion, c.want[i].FieldsType = "", ""
			}
			before := slices.Clone(c.have)
			if diff := cmp.Diff(c.want, Condense(c.have)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			for range 2 { // from the text, and from memory
				if diff := cmp.Diff(c.want, condenser.Condense(c.have)); diff != "" {
					t.Errorf("with a memory: %s (-want +got):\n%s", c.reason, diff)
				}
			}
			if diff := cmp.Diff(before, c.have); diff != "" {
				t.Errorf("what was given is changed (-before +after):\n%s", diff)
			}
		})
	}
}

// What a Condenser remembers is bounded, whatever the managers of nodes write, and
// it says the same when it had to forget.
func TestCondenserIsBounded(t *testing.T) {
	var condenser Condenser
	node := func(labels int, last string) []metav1.ManagedFieldsEntry {
		names := map[string]any{"f:" + last: struct{}{}}
		for i := range labels {
			names["f:"+strings.Repeat("x", 50)+strconv.Itoa(i)] = struct{}{}
		}
		text, err := json.Marshal(map[string]any{"f:metadata": map[string]any{"f:labels": names}})
		if err != nil {
			t.Fatal(err)
		}
		return []metav1.ManagedFieldsEntry{managed("x", metav1.ManagedFieldsOperationUpdate, "", string(text))}
	}
	check := func(entries []metav1.ManagedFieldsEntry) {
		t.Helper()
		if diff := cmp.Diff(Condense(entries), condenser.Condense(entries)); diff != "" {
			t.Fatalf("another answer with a memory (-without +with):\n%s", diff)
		}
		size := 0
		for raw, text := range condenser.written {
			size += len(raw) + len(text)
		}
		if size != condenser.size || size > condenserSize {
			t.Fatalf("it remembers %d bytes, counted as %d, want at most %d", size, condenser.size, condenserSize)
		}
	}
	for i := range 3 * condenserSize / 10_000 {
		check(node(100, strconv.Itoa(i)))
	}
	check(node(condenserSize/50, "too large to remember"))
	if len(condenser.written) == 0 {
		t.Error("it remembers nothing")
	}
}

// What was read once is not read again: that is what most of a heartbeat cost.
func TestCondenserRemembers(t *testing.T) {
	entries := []metav1.ManagedFieldsEntry{managed("kubelet", metav1.ManagedFieldsOperationUpdate, "",
		`{"f:metadata":{"f:annotations":{".":{},"f:note":{}},"f:labels":{".":{},"f:a":{},"f:b":{},"f:c":{},"f:team":{}}}}`)}
	var condenser Condenser
	condenser.Condense(entries)
	fresh := testing.AllocsPerRun(100, func() { Condense(entries) })
	known := testing.AllocsPerRun(100, func() { condenser.Condense(entries) })
	if known > fresh/2 {
		t.Errorf("it takes %.0f allocations to condense what is known, and %.0f what is not", known, fresh)
	}
	for i := range 100 { // the addresses of pods are another matter on each node
		condenser.Condense([]metav1.ManagedFieldsEntry{managed("kube-controller-manager", metav1.ManagedFieldsOperationUpdate, "",
			fmt.Sprintf(`{"f:metadata":{"f:annotations":{"f:ttl":{}}},"f:spec":{"f:podCIDRs":{".":{},"v:\"10.0.%d.0/24\"":{}}}}`, i))})
	}
	if len(condenser.written) != 2 {
		t.Errorf("it remembers %d texts, want those 2 that do not distinguish one node from another", len(condenser.written))
	}
}

// Texts that are one without the values of their sets say the same, also where a
// value holds what ends a text, and where one came before that cannot be read.
func TestCondenserDistinguishesTornFromWhole(t *testing.T) {
	fields := func(value string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{managed("x", metav1.ManagedFieldsOperationUpdate, "",
			`{"f:metadata":{"f:finalizers":{`+value+`:{}},"f:labels":{"f:a\"v:b":{}}}}`)}
	}
	var condenser Condenser
	for _, value := range []string{`"v:\q"`, `"v:`, `"v:\"one\""`, `"v:\"}}\""`, `"v:\"\\\\\""`} {
		if diff := cmp.Diff(Condense(fields(value)), condenser.Condense(fields(value))); diff != "" {
			t.Errorf("with a memory %s says something else (-without +with):\n%s", value, diff)
		}
	}
	if want := Condense(fields(`"v:\"one\""`)); len(want) != 1 || !strings.Contains(want[0].FieldsV1.GetRawString(), `f:a\"v:b`) {
		t.Errorf("the label is not found: %v", want)
	}
}

// A label that somebody applies by way of the status is theirs as well, and stays
// when we release it, also for a plan that is made from what the cache keeps.
func TestCondensedKeepsWhoAppliesByTheStatus(t *testing.T) {
	node := newNode("n")
	node.Labels = map[string]string{key: "1"}
	define("gone", v1.NodePoolSpec{})
	setRecord(node, recordOf(Label, Entry{Pool: "gone", Value: "1"}))
	node.ManagedFields = []metav1.ManagedFieldsEntry{managed("argo", metav1.ManagedFieldsOperationApply, "status", `{"f:metadata":{"f:labels":{"f:`+key+`":{}}}}`)}
	p := samePlanWhenCondensed(t, node, expand())
	if len(p.Changes) > 0 || p.NoOp() {
		t.Errorf("changes %v, quiet %v: want the record to go and the label to stay", p.Changes, p.NoOp())
	}
}

// Somebody applies under our name what pools never write, and another applies it
// too. The cache does not keep the other, so the plan must not ask.
func TestCondensedKeepsNoFieldThatPoolsDoNotWrite(t *testing.T) {
	const podCIDR = `{"f:spec":{"f:podCIDR":{}}}`
	node := newNode("n")
	node.ManagedFields = []metav1.ManagedFieldsEntry{
		managed(v1.FieldManager, metav1.ManagedFieldsOperationApply, "", podCIDR),
		managed("argo", metav1.ManagedFieldsOperationApply, "", podCIDR),
	}
	if p := samePlanWhenCondensed(t, node, expand(onNode("a", want(Label, "1")))); p.NoOp() {
		t.Error("there is nothing to write, so nothing was compared")
	}
}

// planFromCache: the controller plans from condensed nodes, diff from full ones.
func (at step) planFromCache(t *testing.T, seen *counts) {
	t.Helper()
	for _, node := range []*NodeState{at.before, at.node} {
		p := samePlanWhenCondensed(t, node, at.expansion())
		for _, conflict := range p.Conflicts {
			if len(conflict.reason.SetBy) > 0 {
				seen.named++
			}
		}
	}
}

// samePlanWhenCondensed plans for a node and for what the cache keeps of it, and
// compares all that is reported and written.
func samePlanWhenCondensed(t *testing.T, node *NodeState, pools *render.Expansion) *NodePlan {
	t.Helper()
	condensed := node.DeepCopy()
	condensed.ManagedFields = Condense(node.ManagedFields)
	var plans []*NodePlan
	var texts []string
	for _, node := range []*NodeState{node, condensed} {
		p, err := Node(node, pools)
		if err != nil {
			t.Fatal(err)
		}
		patch, err := p.Patch(node)
		if err != nil {
			t.Fatal(err)
		}
		reported, err := json.MarshalIndent([]any{p.Pools, p.Changes, p.Conflicts, p.Record, p.Releases(), patch.Type}, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		plans, texts = append(plans, p), append(texts, string(reported)+string(patch.Data))
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" {
		t.Errorf("the plan from a condensed node is another (-full +condensed):\n%s", diff)
	}
	return plans[1]
}
