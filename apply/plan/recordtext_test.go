package plan

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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

var update = flag.Bool("update", false, "write the golden files anew")

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
		"none":                {"a node that no pool has touched", "", Record{}, ""},
		"empty":               {"nothing is ours", `{"version":2}`, Record{}, ""},
		"white space":         {"somebody has formatted it", " {\n \"version\": 2 } \n", Record{}, ""},
		"no JSON":             {"it is unknown what is ours", "?", Record{}, "not a record"},
		"null":                {"it says nothing", "null", Record{}, "version 0"},
		"a list":              {"it is something else", "[]", Record{}, "not a record: misplaced array, up to byte 1"},
		"no version":          {"a record always has one", `{}`, Record{}, "version 0, which never was"},
		"negative":            {"no such version", `{"version":-1}`, Record{}, "version -1, which never was"},
		"text as version":     {"no such version", `{"version":"2"}`, Record{}, "not a record: misplaced string, up to byte"},
		"version in capitals": {"no version has that field", `{"Version":2}`, Record{}, "version 0, which never was"},
		"two versions":        {"which one holds", `{"version":1,"version":2}`, Record{}, `duplicate field "version"`},
		"first of version 3": {
			"the programs of two hours wrote it so",
			`{"version":3,"pools":{"a":{"labels":{"k":"1"}}},"change":{"at":"2026-11-25T02:00:07Z","unready":true,"pools":{"a":{"change":"b889db","undo":"42c981dfe85d"}}}}`,
			Record{Labels: map[string]Entry{"k": {Pool: "a", Value: "1"}}, Change: LastChange{
				At: turnBegan, Pools: map[string]FollowedPool{"a": {At: turnBegan, Unready: true}},
			}}, "",
		},
		"later version":            {"a later nodepools knows what is ours", `{"version":4,"nodes":[[{}]]}`, Record{}, "record of version 4: written by a later version"},
		"change of no time":        {"nobody can tell how long ago", `{"version":3,"pools":{"a":{"labels":{"k":"1"}}},"change":{}}`, Record{}, "a change has no time"},
		"change of nothing":        {"nothing is ours", `{"version":3,"change":{"at":"2026-11-25T02:00:07Z"}}`, Record{}, "nothing that has changed"},
		"drained of NoSchedule":    {"pods are evicted for nothing", `{"version":3,"pools":{"a":{"labels":{"k":"1"}}},"change":{"at":"2026-11-25T02:00:07Z","drains":{"t:NoSchedule":{"pool":"a","value":"1"}}}}`, Record{}, `nodes are not drained of "t:NoSchedule"`},
		"drained for nobody":       {"a pool wants the taint", `{"version":3,"pools":{"a":{"labels":{"k":"1"}}},"change":{"at":"2026-11-25T02:00:07Z","drains":{"t:NoExecute":{"value":"1"}}}}`, Record{}, `nodes are not drained of "t:NoExecute"`},
		"drained for no pool":      {"its name is printed in commands", `{"version":3,"pools":{"a":{"labels":{"k":"1"}}},"change":{"at":"2026-11-25T02:00:07Z","drains":{"t:NoExecute":{"pool":"$(x)","value":"1"}}}}`, Record{}, `no pool can have the name "$(x)"`},
		"change in version 2":      {"no version has that field", `{"version":2,"change":{"at":"2026-11-25T02:00:07Z"}}`, Record{}, `unknown field "change"`},
		"text after it":            {"two records contradict each other", `{"version":2}{"version":2}`, Record{}, "not a record"},
		"text after an old one":    {"the same", `{"version":1}{"version":1}`, Record{}, "not a record"},
		"text after a later one":   {"it is no JSON, in whatever version", `{"version":4}{}`, Record{}, "not a record"},
		"nested without end":       {"it must not take the controller down", `{"version":2,"pools":` + strings.Repeat(`{"a":`, 100_000), Record{}, "not a record"},
		"nested and closed":        {"the same", `{"version":2,"pools":` + strings.Repeat(`{"a":`, 50_000) + "1" + strings.Repeat("}", 50_001), Record{}, "not a record"},
		"names itself":             {"it would remove itself", `{"version":2,"pools":{"a":{"annotations":{"` + v1.AppliedAnnotation + `":"1"}}}}`, Record{}, "is not for pools to set"},
		"a label of our domain":    {"the same", `{"version":2,"pools":{"a":{"labels":{"` + v1.Domain + `/x":"1"}}}}`, Record{}, "is not for pools to set"},
		"a taint of our domain":    {"the same", `{"version":2,"pools":{"a":{"taints":{"` + v1.Domain + `/x:NoSchedule":"1"}}}}`, Record{}, "is not for pools to set"},
		"a name to be run":         {"names of pools are printed in commands to copy", `{"version":2,"pools":{"a'; reboot; '":{"labels":{"l":"1"}}}}`, Record{}, "no pool can have the name"},
		"a name in capitals":       {"the API server would not have taken it", `{"version":2,"pools":{"A":{"labels":{"l":"1"}}}}`, Record{}, "no pool can have the name"},
		"the same, in v1":          {"it is in force for every version", `{"version":1,"labels":{"l":{"pool":"$(reboot)","value":"1"}}}`, Record{}, "no pool can have the name"},
		"Kubernetes' own taint":    {"no pool could have put it there", `{"version":2,"pools":{"a":{"taints":{"node.kubernetes.io/unreachable:NoExecute":""}}}}`, Record{}, "is not for pools to set"},
		"Kubernetes' taint, in v1": {"the same", `{"version":1,"taints":{"node.kubernetes.io/unreachable:NoExecute":{"pool":"a","value":""}}}`, Record{}, "is not for pools to set"},
	})
	if _, err := ParseRecord(`{"version":4}`); !errors.Is(err, ErrNewerRecord) {
		t.Errorf("a record of a later version is not known as one: %v", err)
	}
	if _, err := ParseRecord(`{"version":2,"nodes":{}}`); errors.Is(err, ErrNewerRecord) {
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
			`{"version":2,"pools":{"o":{"labels":{"c":""}},"p":{"labels":{"a":"2","b":"1"},"taints":{"k:NoExecute":"","k:NoSchedule":""}}}}`,
		},
		"empty before": {
			"an empty value before is not the same as none",
			Record{Labels: map[string]Entry{"a": {Pool: "p", Value: "1", Before: ptr.To("")}}},
			`{"version":2,"pools":{"p":{"labels":{"a":"1"}}},"before":{"labels":{"a":""}}}`,
		},
		"all": {
			"every field, and every form of an entry", whole,
			`{"version":2,"pools":{"a":{"labels":{"l":""},"taints":{"t:NoExecute":"2"}},"b":{"labels":{"m":"1"},"annotations":{"n":"1","o":"2"}},"c":{"taints":{"t:NoSchedule":"2"}}},` +
				`"before":{"annotations":{"n":""},"taints":{"t:NoSchedule":"3"}},"adopted":{"labels":{"m":null},"annotations":{"o":""}}}`,
		},
		"any text": {
			"annotations hold anything at all, each byte comes back, and a person can read it",
			Record{Annotations: map[string]Entry{"a": {Pool: "p", Value: "<&>\"\\\n\x00…", Before: ptr.To("\u2028")}}},
			`{"version":2,"pools":{"p":{"annotations":{"a":"<&>\"\\\n\u0000…"}}},"before":{"annotations":{"a":"\u2028"}}}`,
		},
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

// writtenBy is the text of a node's record in the form in which a version wrote it.
func writtenBy(t *testing.T, version int, node string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/records", fmt.Sprintf("v%d", version), node))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(text), "\n")
}

// The records of some nodes stand in testdata/records as each version has
// written them; those of old versions are never renewed. This version reads all
// of them, and to the same meaning, and writes its own to the byte.
func TestRecordsOfEveryVersionAreRead(t *testing.T) {
	nodes, err := filepath.Glob("testdata/records/v1/*.json")
	if err != nil || len(nodes) == 0 {
		t.Fatalf("no records of version 1: %v", err)
	}
	for i, node := range nodes {
		nodes[i] = filepath.Base(node)
	}
	for _, node := range nodes {
		first, err := ParseRecord(writtenBy(t, 1, node))
		if err != nil {
			t.Fatal(err)
		}
		for version := 2; version <= newestRecordVersion; version++ {
			if version == newestRecordVersion {
				first.Change.At = time.Date(2026, time.November, 25, 2, 0, 7, 0, time.UTC)
			}
			if *update && version >= recordVersion {
				file := filepath.Join("testdata/records", fmt.Sprintf("v%d", version), node)
				if err := os.WriteFile(file, []byte(first.String()+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			read, err := ParseRecord(writtenBy(t, version, node))
			if err != nil {
				t.Errorf("%s, as version %d has written it: %v", node, version, err)
			} else if diff := cmp.Diff(first, read); diff != "" {
				t.Errorf("%s (-version 1 +version %d):\n%s", node, version, diff)
			}
			if diff := cmp.Diff(writtenBy(t, version, node), first.String()); diff != "" && version >= recordVersion {
				t.Errorf("%s (-want +written, -update to accept):\n%s", node, diff)
			}
		}
	}
	for version := 1; version <= newestRecordVersion; version++ {
		files, err := filepath.Glob(fmt.Sprintf("testdata/records/v%d/*.json", version))
		if err != nil || len(files) != len(nodes) {
			t.Errorf("version %d has records of %d nodes, want those of %d: %v", version, len(files), len(nodes), err)
		}
	}
}

// A record that says in an old version what it would say in this one is no
// reason to write the node: an upgrade of the controller would write every one.
// It is written anew with whatever is written next, the whole of it.
func TestOldRecordIsWrittenAnewOnlyWithAnotherChange(t *testing.T) {
	const old = `{"version":1,"labels":{"k":{"pool":"a","value":"1","before":"0"},"l":{"pool":"a","value":"1"}}}`
	pool := func(labels map[string]v1.LabelValue) *v1.NodePool {
		return define("a", v1.NodePoolSpec{Labels: labels})
	}
	other := define("b", v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"m": "2"}})
	asBefore := pool(map[string]v1.LabelValue{"k": "1", "l": "1"})
	cases := map[string]struct {
		reason string
		pools  []*v1.NodePool
		want   string
	}{
		"no change": {"no write", []*v1.NodePool{asBefore}, old},
		"an apply": {
			"a value changes", []*v1.NodePool{pool(map[string]v1.LabelValue{"k": "2", "l": "1"})},
			`{"version":2,"pools":{"a":{"labels":{"k":"2","l":"1"}}},"before":{"labels":{"k":"0"}}}`,
		},
		"a merge patch": {
			"a label goes", []*v1.NodePool{pool(map[string]v1.LabelValue{"k": "1"})},
			`{"version":2,"pools":{"a":{"labels":{"k":"1"}}},"before":{"labels":{"k":"0"}}}`,
		},
		"beside a pause": {
			"what is held is reported anew as well: no record is of two versions", []*v1.NodePool{paused(asBefore.DeepCopy()), other},
			`{"version":2,"pools":{"a":{"labels":{"k":"1","l":"1"}},"b":{"labels":{"m":"2"}}},"before":{"labels":{"k":"0"}}}`,
		},
		"release": {"the last pool goes, and the record with it", nil, ""},
	}
	s := newServer()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			node := newNode("n")
			node.Labels = map[string]string{"k": "1", "l": "1", v1.RoleLabel("a"): "", v1.RoleLabel("b"): ""}
			node.Annotations = map[string]string{v1.AppliedAnnotation: old}
			after, p := s.write(t, node, expand(c.pools...))
			if got := after.Annotations[v1.AppliedAnnotation]; got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.reason, got, c.want)
			}
			if p.NoOp() != (c.want == old) {
				t.Errorf("quiet is %v: %s", p.NoOp(), c.reason)
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
