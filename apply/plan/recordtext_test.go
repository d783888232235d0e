package plan

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/testdata/docs"
)

// parsing is what comes of a text.
type parsing struct {
	reason string
	text   string
	want   Record
	// fault is part of the error; empty for none.
	fault string
}

func mustParse(t *testing.T, cases map[string]parsing) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseRecord(c.text)
			if (err == nil) != (c.fault == "") || (err != nil && !strings.Contains(err.Error(), c.fault)) {
				t.Fatalf("error %v, want %q: %s", err, c.fault, c.reason)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// whole has every field, and every form of an entry.
var whole = Record{
	Labels:      map[string]Entry{"l": {Pool: "a", Value: ""}, "m": {Pool: "b", Value: "1", Adopted: true}},
	Annotations: map[string]Entry{"n": {Pool: "b", Value: "1", Before: ptr.To("")}, "o": {Pool: "b", Value: "2", Before: ptr.To(""), Adopted: true}},
	Taints:      map[render.TaintID]Entry{{Key: "t", Effect: "NoSchedule"}: {Pool: "c", Value: "2", Before: ptr.To("3")}, {Key: "t", Effect: "NoExecute"}: {Pool: "a", Value: "2"}},
}

// turnBegan is when the changes of the texts began.
var turnBegan = time.Date(2026, 11, 25, 2, 0, 7, 0, time.UTC)

func TestParseRecord(t *testing.T) {
	mustParse(t, map[string]parsing{
		"none":                   {"a node that no pool has touched", "", Record{}, ""},
		"empty":                  {"nothing is ours", `{"version":1}`, Record{}, ""},
		"white space":            {"somebody has formatted it", " {\n \"version\": 1 } \n", Record{}, ""},
		"no JSON":                {"it is unknown what is ours", "?", Record{}, "not a record"},
		"null":                   {"it says nothing", "null", Record{}, "version 0"},
		"a list":                 {"it is something else", "[]", Record{}, "not a record: misplaced array, up to byte 1"},
		"no version":             {"a record always has one", `{}`, Record{}, "version 0, which never was"},
		"negative":               {"no such version", `{"version":-1}`, Record{}, "version -1, which never was"},
		"text as version":        {"no such version", `{"version":"2"}`, Record{}, "not a record: misplaced string, up to byte"},
		"version in capitals":    {"no version has that field", `{"Version":2}`, Record{}, "version 0, which never was"},
		"two versions":           {"which one holds", `{"version":1,"version":1}`, Record{}, `duplicate field "version"`},
		"later version":          {"a later nodepools knows what is ours", `{"version":2,"nodes":[[{}]]}`, Record{}, "record of version 2: written by a later version"},
		"change of no time":      {"nobody can tell how long ago", `{"version":1,"pools":{"a":{"labels":{"k":"1"}}},"change":{}}`, Record{}, "a change has no time"},
		"change of nothing":      {"nothing is ours", `{"version":1,"change":{"at":"2026-11-25T02:00:07Z"}}`, Record{}, "nothing that has changed"},
		"drained of NoSchedule":  {"pods are evicted for nothing", `{"version":1,"pools":{"a":{"labels":{"k":"1"}}},"change":{"at":"2026-11-25T02:00:07Z","drains":{"t:NoSchedule":{"pool":"a","value":"1"}}}}`, Record{}, `nodes are not drained of "t:NoSchedule"`},
		"drained for nobody":     {"a pool wants the taint", `{"version":1,"pools":{"a":{"labels":{"k":"1"}}},"change":{"at":"2026-11-25T02:00:07Z","drains":{"t:NoExecute":{"value":"1"}}}}`, Record{}, `nodes are not drained of "t:NoExecute"`},
		"drained for no pool":    {"its name is printed in commands", `{"version":1,"pools":{"a":{"labels":{"k":"1"}}},"change":{"at":"2026-11-25T02:00:07Z","drains":{"t:NoExecute":{"pool":"$(x)","value":"1"}}}}`, Record{}, `no pool can have the name "$(x)"`},
		"text after it":          {"two records contradict each other", `{"version":1}{"version":1}`, Record{}, "not a record"},
		"text after a later one": {"it is no JSON, in whatever version", `{"version":2}{}`, Record{}, "not a record"},
		"nested without end":     {"it must not take the controller down", `{"version":1,"pools":` + strings.Repeat(`{"a":`, 100_000), Record{}, "not a record"},
		"nested and closed":      {"the same", `{"version":1,"pools":` + strings.Repeat(`{"a":`, 50_000) + "1" + strings.Repeat("}", 50_001), Record{}, "not a record"},
		"names itself":           {"it would remove itself", `{"version":1,"pools":{"a":{"annotations":{"` + v1.AppliedAnnotation + `":"1"}}}}`, Record{}, "is not for pools to set"},
		"a label of our domain":  {"the same", `{"version":1,"pools":{"a":{"labels":{"` + v1.Domain + `/x":"1"}}}}`, Record{}, "is not for pools to set"},
		"a taint of our domain":  {"the same", `{"version":1,"pools":{"a":{"taints":{"` + v1.Domain + `/x:NoSchedule":"1"}}}}`, Record{}, "is not for pools to set"},
		"a name to be run":       {"names of pools are printed in commands to copy", `{"version":1,"pools":{"a'; reboot; '":{"labels":{"l":"1"}}}}`, Record{}, "no pool can have the name"},
		"a name in capitals":     {"the API server would not have taken it", `{"version":1,"pools":{"A":{"labels":{"l":"1"}}}}`, Record{}, "no pool can have the name"},
		"Kubernetes' own taint":  {"no pool could have put it there", `{"version":1,"pools":{"a":{"taints":{"node.kubernetes.io/unreachable:NoExecute":""}}}}`, Record{}, "is not for pools to set"},
	})
	if _, err := ParseRecord(`{"version":2}`); !errors.Is(err, ErrNewerRecord) {
		t.Errorf("a record of a later version is not known as one: %v", err)
	}
	if _, err := ParseRecord(`{"version":1,"nodes":{}}`); errors.Is(err, ErrNewerRecord) {
		t.Error("a broken record of this version is taken for one of a later version")
	}
}

func TestRecordString(t *testing.T) {
	cases := map[string]struct {
		reason string
		record Record
		want   string
	}{
		"empty": {"no annotation at all", Record{Labels: map[string]Entry{}}, ""},
		"sorted": {
			"equal records are equal texts",
			Record{
				Labels: map[string]Entry{"b": {Pool: "p", Value: "1"}, "a": {Pool: "p", Value: "2"}, "c": {Pool: "o"}},
				Taints: map[render.TaintID]Entry{{Key: "k", Effect: "NoSchedule"}: {Pool: "p"}, {Key: "k", Effect: "NoExecute"}: {Pool: "p"}},
			},
			`{"version":1,"pools":{"o":{"labels":{"c":""}},"p":{"labels":{"a":"2","b":"1"},"taints":{"k:NoExecute":"","k:NoSchedule":""}}}}`,
		},
		"empty before": {
			"an empty value before is not the same as none",
			Record{Labels: map[string]Entry{"a": {Pool: "p", Value: "1", Before: ptr.To("")}}},
			`{"version":1,"pools":{"p":{"labels":{"a":"1"}}},"before":{"labels":{"a":""}}}`,
		},
		"all": {
			"every field, and every form of an entry", whole,
			`{"version":1,"pools":{"a":{"labels":{"l":""},"taints":{"t:NoExecute":"2"}},"b":{"labels":{"m":"1"},"annotations":{"n":"1","o":"2"}},"c":{"taints":{"t:NoSchedule":"2"}}},` +
				`"before":{"annotations":{"n":""},"taints":{"t:NoSchedule":"3"}},"adopted":{"labels":{"m":null},"annotations":{"o":""}}}`,
		},
		"any text": {
			"annotations hold anything at all, each byte comes back, and a person can read it",
			Record{Annotations: map[string]Entry{"a": {Pool: "p", Value: "<&>\"\\\n\x00…", Before: ptr.To("\u2028")}}},
			`{"version":1,"pools":{"p":{"annotations":{"a":"<&>\"\\\n\u0000…"}}},"before":{"annotations":{"a":"\u2028"}}}`,
		},
	}
	cases["change"] = struct {
		reason string
		record Record
		want   string
	}{
		"each time is written once",
		Record{
			Labels: map[string]Entry{"a": {Pool: "p", Value: "1"}},
			Change: LastChange{
				At: turnBegan,
				Pools: map[string]FollowedPool{
					"p": {At: turnBegan, Spec: "3fa2c1", Previous: "b1d077", Commit: "9a41c07d2be5"},
					"q": {At: turnBegan.Add(-time.Minute), Unready: true},
				},
				Drains: map[render.TaintID]DrainedTaint{{Key: "t", Effect: "NoExecute"}: {Pool: "q", Value: "2", Since: turnBegan, Stands: turnBegan.Add(time.Minute), Before: ptr.To("")}},
			},
		},
		`{"version":1,"pools":{"p":{"labels":{"a":"1"}}},"change":{"at":"2026-11-25T02:00:07Z","pools":{` +
			`"p":{"spec":"3fa2c1","previous":"b1d077","commit":"9a41c07d2be5"},` +
			`"q":{"at":"2026-11-25T01:59:07Z","unready":true}},` +
			`"drains":{"t:NoExecute":{"pool":"q","value":"2","stands":"2026-11-25T02:01:07Z","before":""}}}}`,
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			text := c.record.String()
			if text != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.reason, text, c.want)
			}
			again, err := ParseRecord(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.record, again, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-written +read):\n%s", c.reason, diff)
			}
		})
	}
}

// What the documentation shows as a record is one.
func TestRecordInTheReadme(t *testing.T) {
	example := docs.Cut(t, "```json\n", "```\n")
	if record, err := ParseRecord(example); err != nil || record.Empty() {
		t.Errorf("%v, %v:\n%s", record, err, example)
	}
}
