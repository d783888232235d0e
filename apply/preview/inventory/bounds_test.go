package inventory

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// list is a list of the same element, n times; %d in it is its number.
func list(n int, element string) string {
	if !strings.Contains(element, "%d") {
		return "[" + strings.Repeat(element+",", n-1) + element + "]"
	}
	var text strings.Builder
	for i := range n {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(strings.ReplaceAll(element, "%d", fmt.Sprint(i)))
	}
	return "[" + text.String() + "]"
}

// cheap is how much memory the reading of a hostile file of a few MB may ask for
// in all, freed meanwhile or not. One of 5,000 nodes and 50,000 pods, of 3 MB, asks
// for less than half of it.
const cheap = 512 << 20

// A file of a few MB takes no more than a large cluster does, whatever is in it.
func TestMemoryOfHostileFiles(t *testing.T) {
	const many = 1_000_000
	one := `"nodes": [{"names": ["n"]}],`
	cases := map[string]string{
		"YAML":             "sections: " + list(many, "{}"),
		"pools":            `"nodePools": ` + list(many, "{}"),
		"workloads":        one + `"workloads": ` + list(many/20, `{"kind":"K","name":"%d","namespace":"x","template":{}}`),
		"pod groups":       one + `"workloads": [{"namespace":"x","pods":` + list(many, "{}") + `}]`,
		"tolerations":      one + `"workloads": [{"kind":"K","name":"n","namespace":"x","template":{"tolerations":` + list(many, "{}") + `}}]`,
		"budgets of pods":  one + `"workloads": [{"namespace":"x","pods":[{"podDisruptionBudgets":` + list(many/20, `"b%d"`) + `,"pods":` + list(many/20, `"n %d"`) + `}]}]`,
		"node groups":      `"nodes": ` + list(many, "{}"),
		"labels of names":  `"nodes": [{"names":["n[1-100000]"],"labels":{"a":"$node","b":"$node","c":"$node","d":"$node","e":"","f":"","g":"","h":"","i":"","j":"","k":"","l":"","m":"","n":"","o":"","p":"","q":"","r":""}}]`,
		"long names":       `"nodes": [{"names":["` + strings.Repeat("n", 3_000_000) + `[1-200000]"]}]`,
		"owners":           `"runtimeClasses": [{"name":"p","ownerReferences":` + list(many, "{}") + `}]`,
		"taints of a pool": `"nodePools": [{"name":"p","spec":{"taints":` + list(many, "{}") + `}}]`,
		"overhead":         `"runtimeClasses": [{"name":"p","overhead":{"podFixed":{` + strings.Trim(list(many/10, `"r%d":"1Mi"`), "[]") + `}}}]`,
		"unknown fields":   `"nodePools": [{"name":"p",` + strings.Trim(list(many/10, `"r%d":1`), "[]") + `}]`,
		"blanks":           `"nodePools": [` + strings.Repeat("\n", 3*many) + `]`,
	}
	for name, sections := range cases {
		t.Run(name, func(t *testing.T) {
			text := inFile(sections)
			if name == "YAML" {
				text = sections
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Read(strings.NewReader(text))
			runtime.ReadMemStats(&after)
			took := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d bytes took %d MB: %v", len(text), took>>20, err)
			if took > cheap {
				t.Errorf("%d bytes took %d MB", len(text), took>>20)
			}
		})
	}
}

// What is a product of two numbers of a file is bounded, too: whether a pool, or the
// pod of a DaemonSet, is for a node is asked for each of both, and who set what is read
// for each node.
func TestWorkOfHostileFiles(t *testing.T) {
	const nodes = `"nodes": [{"names":["n[1-50000]"]}],`
	owned := func(what string) string { return `"nodes": [{"names":["n[1-50000]"],` + what + `}]` }
	cases := map[string]struct {
		sections string
		refused  bool
	}{
		"few DaemonSets":       {nodes + `"workloads": ` + list(100, `{"kind":"DaemonSet","name":"%d","namespace":"x","template":{}}`), false},
		"many DaemonSets":      {nodes + `"workloads": ` + list(4_000, `{"kind":"DaemonSet","name":"%d","namespace":"x","template":{}}`), true},
		"DaemonSets that ask":  {nodes + `"workloads": ` + list(300, `{"kind":"DaemonSet","name":"%d","namespace":"x","template":{"tolerations":[{},{},{},{},{},{},{},{},{},{},{},{}]}}`), true},
		"DaemonSets of others": {nodes + `"workloads": ` + list(4_000, `{"group":"apps.kruise.io","kind":"DaemonSet","name":"%d","namespace":"x","template":{}}`), false},
		"few pools":            {nodes + `"nodePools": ` + list(100, `{"name":"p%d","spec":{}}`), false},
		"few setters":          {owned(`"setBy":{"kubelet":{"labels":` + list(20, `"k%d"`) + `},"kubectl-taint":{"taints":true}}`), false},
		"keys of a setter":     {owned(`"setBy":{"kubelet":{"labels":` + list(200, `"k%d"`) + `}}`), true},
		"setters":              {owned(`"setBy":{` + strings.Trim(list(200, `"m%d":{"taints":true}`), "[]") + `}`), true},
		"labels also applied":  {owned(`"alsoApplied":{"labels":` + list(200, `"k%d"`) + `}`), true},
		"many pools":           {`"nodePools": ` + list(4_000, `{"name":"p%d","spec":{}}`) + "," + strings.TrimSuffix(nodes, ","), true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Read(strings.NewReader(inFile(strings.TrimSuffix(c.sections, ","))))
			if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "more than 8000000 values") {
				t.Errorf("got %v, want it refused: %v", err, c.refused)
			}
		})
	}
}

// What clusters have is far below what a file may have: three times as many nodes
// and pods as these are read, too.
func TestLargeClusterIsRead(t *testing.T) {
	large := largeFleet(t, 1_000)
	r := newReader(written(t, large))
	inv, err := r.read()
	if err != nil {
		t.Fatal(err)
	}
	spent := maxValues - r.values
	t.Logf("%d bytes are worth %d values", len(r.data), spent)
	if spent > maxValues/3 || len(inv.Nodes) != len(large.Nodes) || len(inv.Pods) != len(large.Pods) {
		t.Errorf("%d nodes and %d pods are worth %d values", len(inv.Nodes), len(inv.Pods), spent)
	}
}
