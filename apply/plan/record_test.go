package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/nodepools/nodepools/render"
)

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
