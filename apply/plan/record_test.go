package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

func TestParseRecord(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   Record
		// fault is part of the error; empty for none.
		fault string
	}{
		"none":  {"a node that no pool has touched", "", Record{}, ""},
		"empty": {"nothing is ours", `{"version":1}`, Record{}, ""},
		"all": {
			"every field, and every part of an entry",
			`{"version":1,"labels":{"l":{"pool":"a","value":""}},"annotations":{"n":{"pool":"b","value":"1","before":""}},` +
				`"taints":{"t:NoSchedule":{"pool":"c","value":"2","before":"3","adopted":true}}}`,
			Record{
				Labels:      map[string]Entry{"l": {Pool: "a", Value: ""}},
				Annotations: map[string]Entry{"n": {Pool: "b", Value: "1", Before: ptr.To("")}},
				Taints:      map[render.TaintID]Entry{{Key: "t", Effect: "NoSchedule"}: {Pool: "c", Value: "2", Before: ptr.To("3"), Adopted: true}},
			},
			"",
		},
		"white space":     {"somebody has formatted it", " {\n \"version\": 1 } \n", Record{}, ""},
		"no JSON":         {"nobody can tell what is ours", "?", Record{}, "not a record"},
		"cut off":         {"half a record is none", `{"version":1,"labels":{"l":{"pool":"a"`, Record{}, "not a record"},
		"null":            {"it says nothing", "null", Record{}, "version 0"},
		"a list":          {"it is something else", "[]", Record{}, "not a record"},
		"no version":      {"a record always has one", `{}`, Record{}, "version 0, which never was"},
		"negative":        {"no such version", `{"version":-1}`, Record{}, "version -1, which never was"},
		"text as version": {"no such version", `{"version":"1"}`, Record{}, "not a record"},
		"later version":   {"a later nodepools knows what is ours", `{"version":2,"nodes":{}}`, Record{}, "written by a later version"},
		"unknown field":   {"half understood is not understood", `{"version":1,"roles":{}}`, Record{}, "unknown field"},
		"unknown in entry": {
			"the same in an entry",
			`{"version":1,"labels":{"l":{"pool":"a","value":"1","weight":2}}}`, Record{}, "unknown field",
		},
		"text after it":         {"two records contradict each other", `{"version":1}{"version":1}`, Record{}, "not a record"},
		"nobody's label":        {"whom should it be released for", `{"version":1,"labels":{"l":{"value":"1"}}}`, Record{}, "names no pool"},
		"nobody's taint":        {"the same", `{"version":1,"taints":{"t:NoSchedule":{"value":"1"}}}`, Record{}, "names no pool"},
		"no key":                {"there is no such label", `{"version":1,"annotations":{"":{"pool":"a","value":"1"}}}`, Record{}, "no key"},
		"taint sans effect":     {"a taint is known by key and effect", `{"version":1,"taints":{"t":{"pool":"a","value":"1"}}}`, Record{}, "key:effect"},
		"names itself":          {"it would remove itself", `{"version":1,"annotations":{"` + v1.AppliedAnnotation + `":{"pool":"a","value":"1"}}}`, Record{}, "is not for pools to set"},
		"Kubernetes' own taint": {"no pool could have put it there", `{"version":1,"taints":{"node.kubernetes.io/unreachable:NoExecute":{"pool":"a","value":""}}}`, Record{}, "is not for pools to set"},
	}
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
	if _, err := ParseRecord(`{"version":2}`); !errors.Is(err, ErrNewerRecord) {
		t.Errorf("a record of a later version is not known as one: %v", err)
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
				Labels: map[string]Entry{"b": {Pool: "p", Value: "1"}, "a": {Pool: "p", Value: "2"}},
				Taints: map[render.TaintID]Entry{{Key: "k", Effect: "NoSchedule"}: {Pool: "p"}, {Key: "k", Effect: "NoExecute"}: {Pool: "p"}},
			},
			`{"version":1,"labels":{"a":{"pool":"p","value":"2"},"b":{"pool":"p","value":"1"}},` +
				`"taints":{"k:NoExecute":{"pool":"p","value":""},"k:NoSchedule":{"pool":"p","value":""}}}`,
		},
		"empty before": {
			"an empty value before is not the same as none",
			Record{Labels: map[string]Entry{"a": {Pool: "p", Value: "1", Before: ptr.To("")}}},
			`{"version":1,"labels":{"a":{"pool":"p","value":"1","before":""}}}`,
		},
		"any text": {
			"annotations hold anything at all, and each byte comes back",
			Record{Annotations: map[string]Entry{"a": {Pool: "p", Value: "<\"\\\n\x00…", Before: ptr.To("\u2028")}}},
			"",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			text := c.record.String()
			if c.want != "" && text != c.want {
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

func TestRecordEqual(t *testing.T) {
	base := Entry{Pool: "a", Value: "1", Before: ptr.To("0")}
	cases := map[string]struct {
		reason string
		other  Entry
		want   bool
	}{
		"same":           {"another pointer to the same value", Entry{Pool: "a", Value: "1", Before: ptr.To("0")}, true},
		"another pool":   {"the key has moved", Entry{Pool: "b", Value: "1", Before: ptr.To("0")}, false},
		"another value":  {"it has changed", Entry{Pool: "a", Value: "2", Before: ptr.To("0")}, false},
		"another before": {"something else would come back", Entry{Pool: "a", Value: "1", Before: ptr.To("")}, false},
		"no before":      {"nothing would come back", Entry{Pool: "a", Value: "1"}, false},
		"adopted":        {"it would not come back", Entry{Pool: "a", Value: "1", Before: ptr.To("0"), Adopted: true}, false},
	}
	for name, c := range cases {
		for _, field := range []Field{Label, Annotation, Taint} {
			if got := recordOf(field, base).Equal(recordOf(field, c.other)); got != c.want {
				t.Errorf("%s in %s: equal is %v: %s", name, field, got, c.reason)
			}
		}
	}
	if (Record{}).Equal(recordOf(Label, base)) || recordOf(Taint, base).Equal(Record{}) || !(Record{}).Equal(Record{Labels: map[string]Entry{}}) {
		t.Error("an empty record equals only an empty one")
	}
}

func TestRecordPools(t *testing.T) {
	record := Record{
		Labels:      map[string]Entry{"l": {Pool: "a"}, "m": {Pool: "b"}},
		Annotations: map[string]Entry{"n": {Pool: "c"}},
		Taints:      map[render.TaintID]Entry{{Key: "t", Effect: "NoSchedule"}: {Pool: "d"}},
	}
	want := map[string]bool{"a": true, "b": true, "c": true, "d": true}
	if diff := cmp.Diff(want, record.Pools()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnderlyingLabels(t *testing.T) {
	live := map[string]string{"l": "1", "foreign": "x"}
	cases := map[string]struct {
		reason string
		entry  Entry
		live   map[string]string
		want   map[string]string
	}{
		"ours":       {"it would not be there without us", Entry{Pool: "a", Value: "1"}, live, map[string]string{"foreign": "x"}},
		"taken over": {"what was there before counts", Entry{Pool: "a", Value: "1", Before: ptr.To("0")}, live, map[string]string{"l": "0", "foreign": "x"}},
		"adopted": {
			"a pool that adopts the label by which it is chosen must not lose its nodes by that",
			Entry{Pool: "a", Value: "1", Before: ptr.To("1"), Adopted: true}, live, live,
		},
		"changed by hand": {
			"the change is about to be put back, and must lead to no other pool",
			Entry{Pool: "a", Value: "2"}, live, map[string]string{"foreign": "x"},
		},
		"removed by hand": {
			"the same: what was taken over still counts",
			Entry{Pool: "a", Value: "2", Before: ptr.To("")}, map[string]string{"foreign": "x"}, map[string]string{"l": "", "foreign": "x"},
		},
		"no labels left": {"somebody removed them all", Entry{Pool: "a", Value: "1", Before: ptr.To("0")}, nil, map[string]string{"l": "0"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before := cmp.Diff(nil, c.live)
			got := Record{Labels: map[string]Entry{"l": c.entry}}.underlyingLabels(c.live)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if cmp.Diff(nil, c.live) != before {
				t.Error("the labels of the node itself were changed")
			}
		})
	}
}
