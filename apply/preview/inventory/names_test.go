package inventory

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompactNames(t *testing.T) {
	cases := map[string]struct {
		reason string
		names  []string
		want   []string
	}{
		"padded":            {"the width of the numbers is kept", []string{"gpu-001", "gpu-002", "gpu-003"}, []string{"gpu-[001-003]"}},
		"in no order":       {"the order is that of the numbers", []string{"n10", "n8", "n9", "n11"}, []string{"n[8-11]"}},
		"gap":               {"a range has no hole", []string{"n1", "n2", "n4"}, []string{"n4", "n[1-2]"}},
		"no number":         {"what does not count stays", []string{"web", "db"}, []string{"db", "web"}},
		"one":               {"one name is no range", []string{"n1"}, []string{"n1"}},
		"padding ends":      {"099 and 100 count with zeros, 99 and 100 without", []string{"a099", "a100", "b99", "b100"}, []string{"a[099-100]", "b[99-100]"}},
		"padding too short": {"09 and 10 are of one width, 09 and 100 are not", []string{"n08", "n09", "n10", "m099", "m100", "m1000"}, []string{"m1000", "m[099-100]", "n[08-10]"}},
		"host":              {"names count before the first dot", []string{"ip-10-0-0-9.eu-1.example", "ip-10-0-0-10.eu-1.example"}, []string{"ip-10-0-0-[9-10].eu-1.example"}},
		"zero":              {"0 is a number without a zero before it", []string{"n0", "n1", "n9", "n10"}, []string{"n[0-1]", "n[9-10]"}},
		"two widths":        {"1 and 01 are different names", []string{"n1", "n01", "n2", "n02"}, []string{"n01", "n02", "n1", "n2"}},
		"too long":          {"what no number type holds is a name", []string{"n1234567890123456", "n1234567890123457"}, []string{"n1234567890123456", "n1234567890123457"}},
		"in the middle":     {"what stands behind the number is the same", []string{"a1b", "a2b", "a3c"}, []string{"a3c", "a[1-2]b"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := compact(c.names)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			var back []string
			for _, text := range got {
				names, err := expand(text, maxNodes)
				if err != nil {
					t.Fatal(err)
				}
				back = append(back, names...)
			}
			slices.Sort(back)
			if diff := cmp.Diff(slices.Sorted(slices.Values(c.names)), back); diff != "" {
				t.Errorf("expanded again (-want +got):\n%s", diff)
			}
		})
	}
}

func TestShortNamesOfNodes(t *testing.T) {
	cases := map[string]struct {
		reason      string
		nodes       []string
		node, short string
	}{
		"alone":        {"nothing else is called so", []string{"a.x", "b.x"}, "a.x", "a"},
		"several":      {"two begin alike", []string{"a.x", "a.y"}, "a.x", "a.x"},
		"one is short": {"a whole name goes before the beginning of another", []string{"a.x", "a"}, "a.x", "a.x"},
		"short itself": {"its name is as short as it gets", []string{"a.x", "a"}, "a", "a"},
		"short first":  {"whatever comes first", []string{"a", "a.x", "a.y"}, "a.y", "a.y"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				called := hosts{}
				for _, node := range c.nodes {
					called.add(node)
				}
				short := called.short(c.node)
				if full, known := called.full(short); short != c.short || full != c.node || !known {
					t.Errorf("called %q, which is %q (%v); want %q: %s", short, full, known, c.short, c.reason)
				}
				slices.Reverse(c.nodes)
			}
		})
	}
}
