package inventory

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inFile is a file with sections.
func inFile(sections string) string {
	return "{\"apiVersion\": \"" + APIVersion + "\",\n \"kind\": \"Inventory\",\n" + sections + "}"
}

func TestWhatCannotBeRead(t *testing.T) {
	onNode := func(line string) string {
		return inFile(`"nodes": [{"names": ["n1", "a.x", "a.y"]}],` + "\n" + `"workloads": [{"namespace": "ns", "pods": [{"pods": [` + line + `]}]}]`)
	}
	workloads := func(all string) string {
		return inFile(`"nodes": [],` + "\n" + `"workloads": [` + all + `]`)
	}
	manyNames := make([]string, 0, 1000)
	for i := range cap(manyNames) {
		manyNames = append(manyNames, fmt.Sprintf(`"k%d":"v"`, i))
	}
	cases := map[string]struct{ text, want string }{
		"nothing":                   {"", "the file is empty"},
		"blanks":                    {" \n\t\n", "the file is empty"},
		"another version":           {`{"apiVersion": "inventory.nodes.lailin.xyz/v2", "kind": "Inventory", "more": 1}`, `line 1: apiVersion is "inventory.nodes.lailin.xyz/v2", and this version of nodepools reads inventory.nodes.lailin.xyz/v1`},
		"no version":                {`{"kind": "Inventory"}`, `line 1: apiVersion is "", and this version`},
		"another kind":              {`{"apiVersion": "v1", "kind": "List"}`, `line 1: kind is "List", and has to be Inventory`},
		"no JSON":                   {"{\n oops }", "line 2: invalid character 'o' looking for beginning of object key string"},
		"a list":                    {"[]", "line 1: the file is not an inventory"},
		"a text":                    {"hello", "line 1: the file is not an inventory"},
		"cut off":                   {strings.TrimSuffix(inFile(`"nodes": [`), "}"), "the file ends before the inventory does"},
		"no nodes":                  {inFile(`"nodePools": []`), "there is no list of nodes"},
		"no time":                   {inFile(`"taken": "yesterday", "nodes": []`), `taken is "yesterday", and has to be a time such as`},
		"something after":           {inFile("\n") + "{}", "invalid character"},
		"unknown section":           {inFile(`"more": []`), `line 3: unknown field "more"`},
		"unknown field":             {inFile("\"nodes\": [\n{\"names\": [\"n\"]},\n{\"names\": [\"m\"], \"lables\": {}}]"), `line 5: nodes[1]: unknown field "lables"`},
		"unknown field of a pool":   {inFile(`"nodePools": [{"name": "a", "spec": {"priorty": 1}}]`), `line 3: nodePools[0]: unknown field "spec.priorty"`},
		"field twice":               {inFile(`"nodes": [{"names": ["n"], "names": ["m"]}]`), `line 3: nodes[0]: duplicate field "names"`},
		"label twice":               {inFile(`"nodes": [{"names": ["n"], "labels": {"a": "1", "a": "2"}}]`), `line 3: nodes[0]: duplicate field "labels.a"`},
		"section twice":             {inFile(`"nodes": [], "nodes": []`), `line 3: "nodes" is there twice`},
		"waiting pod, no name":      {workloads(`{"namespace": "ns", "pods": [{"waiting": true, "pods": ["A 1"]}]}`), `pods[0]: "A 1" is not the end of a pod's name`},
		"waiting pod twice":         {workloads(`{"namespace": "ns", "pods": [{"waiting": true, "pods": ["a", "a"]}]}`), `pods[0]: pod "a" of namespace "ns" is there twice`},
		"no list":                   {inFile(`"nodes": {}`), "line 3: nodes has to be a list"},
		"wrong type":                {inFile(`"nodes": [{"names": ["n"], "labels": {"a": 8}}]`), "line 3: nodes[0]: labels cannot be a number"},
		"wrong type of all":         {inFile(`"nodes": ["n"]`), "line 3: nodes[0]: there is a wrong string"},
		"taken":                     {inFile(`"taken": 5`), "line 3: there is a wrong number"},
		"conditions of no order":    {inFile(`"nodes": [{"names": ["n"], "conditions": "B=True,A=True"}]`), `line 3: nodes[0]: conditions are "B=True,A=True", which are no sorted types and statuses`},
		"node twice":                {inFile(`"nodes": [{"names": ["n[1-3]", "n2"]}]`), `line 3: nodes[0]: node "n2" is there twice`},
		"no name":                   {inFile(`"nodes": [{"names": ["N 1"]}]`), `line 3: nodes[0]: "N 1" is not the name of a node`},
		"no range":                  {inFile(`"nodes": [{"names": ["n[3-1]"]}]`), `line 3: nodes[0]: "n[3-1]" is not a range of names`},
		"open range":                {inFile(`"nodes": [{"names": ["n[3-"]}]`), `is not a range of names`},
		"range of letters":          {inFile(`"nodes": [{"names": ["n[a-c]"]}]`), `is not a range of names`},
		"range of two widths":       {inFile(`"nodes": [{"names": ["n[01-100]"]}]`), `is not a range of names`},
		"range without end":         {inFile(`"nodes": [{"names": ["n[1-999999999999]"]}]`), `line 3: nodes[0]: "n[1-999999999999]" are too many names: a file has at most 200000 nodes`},
		"range beyond all numbers":  {inFile(`"nodes": [{"names": ["n[1-99999999999999999999]"]}]`), `is not a range of names`},
		"too many ranges":           {inFile(`"nodes": [{"names": ["a[1-150000]", "b[1-150000]"]}]`), `"b[1-150000]" are too many names`},
		"too much of a range":       {inFile(`"nodes": [{"names": ["n[1-100000]"], "labels": {` + strings.Join(manyNames, ",") + `}}]`), "line 3: nodes[0]: the file has more than 8000000 values when its ranges are written out"},
		"label of no node":          {inFile(`"nodes": [{"names": ["n"], "ownLabels": {"serial": {"m": "1"}}}]`), `ownLabels has "m", which is not one of the names, or several`},
		"pods before nodes":         {inFile(`"workloads": [], "nodes": []`), "line 3: workloads has to stand behind nodes"},
		"pod on no node":            {onNode(`"n2 x"`), `line 4: workloads[0]: pods[0]: "n2" is not one of the nodes, or of several`},
		"pod on one of several":     {onNode(`"a x"`), `"a" is not one of the nodes, or of several`},
		"pod twice":                 {onNode(`"n1 x", "a.x x"`), `line 4: workloads[0]: pods[0]: pod "x" of namespace "ns" is there twice`},
		"pod without a name":        {onNode(`"n1 x y"`), `"n1 x y" is not a node and the end of a pod's name`},
		"pool twice":                {inFile(`"nodePools": [{"name": "a", "spec": {}}, {"name": "a", "spec": {}}]`), `line 3: nodePools[1]: NodePool "a" is there twice`},
		"pool without a name":       {inFile(`"nodePools": [{"spec": {}}]`), `line 3: nodePools[0]: "" is not the name of a NodePool`},
		"source twice":              {inFile(`"nodePoolSources": [{"name": "a", "uid": "1"}, {"name": "a", "uid": "2"}]`), `nodePoolSources[1]: NodePoolSource "a" is there twice`},
		"source without a uid":      {inFile(`"nodePoolSources": [{"name": "a"}]`), `nodePoolSources[0]: NodePoolSource "a" has no uid`},
		"source without a name":     {inFile(`"nodePoolSources": [{}]`), `nodePoolSources[0]: "" is not the name of a NodePoolSource`},
		"RuntimeClass twice":        {inFile(`"runtimeClasses": [{"name": "a"}, {"name": "a"}]`), `runtimeClasses[1]: RuntimeClass "a" is there twice`},
		"RuntimeClass of no name":   {inFile(`"runtimeClasses": [{"name": "A"}]`), `runtimeClasses[0]: "A" is not the name of a RuntimeClass`},
		"budget twice":              {inFile(`"podDisruptionBudgets": [{"namespace": "x", "name": "a"}, {"namespace": "y", "name": "a"}, {"namespace": "x", "name": "a"}]`), `podDisruptionBudgets[2]: PodDisruptionBudget "a" of namespace "x" is there twice`},
		"budget without a name":     {inFile(`"podDisruptionBudgets": [{"namespace": "x"}]`), `podDisruptionBudgets[0]: "" is not the name of a PodDisruptionBudget`},
		"budget of no namespace":    {inFile(`"podDisruptionBudgets": [{"name": "x"}]`), `podDisruptionBudgets[0]: "" is not the name of a namespace`},
		"workload twice":            {workloads(`{"kind": "DaemonSet", "namespace": "x", "name": "a"}, {"kind": "DaemonSet", "namespace": "y", "name": "a"}, {"kind": "DaemonSet", "namespace": "x", "name": "a"}`), `line 4: workloads[2]: DaemonSet "a" of namespace "x" is there twice`},
		"workload twice by group":   {workloads(`{"kind": "DaemonSet", "namespace": "x", "name": "a"}, {"group": "apps", "kind": "DaemonSet", "namespace": "x", "name": "a"}`), `workloads[1]: DaemonSet "a" of namespace "x" is there twice`},
		"bare pods twice":           {workloads(`{"namespace": "x"}, {"namespace": "x"}`), `workloads[1]: the pods of namespace "x" that nothing makes are there twice`},
		"workload of no namespace":  {workloads(`{"kind": "DaemonSet", "name": "a"}`), `workloads[0]: "" is not the name of a namespace`},
		"workload without a name":   {workloads(`{"kind": "DaemonSet", "namespace": "x", "template": {}}`), "workloads[0]: what makes pods has a kind and a name, and one of them is missing"},
		"workload without a kind":   {workloads(`{"name": "a", "namespace": "x", "pods": []}`), "workloads[0]: what makes pods has a kind and a name, and one of them is missing"},
		"template of nothing":       {workloads(`{"namespace": "x", "template": {}}`), "workloads[0]: there is a template, and neither kind nor name of what makes pods of it"},
		"range of long names":       {inFile(`"nodes": [{"names": ["` + strings.Repeat("n", 250) + `[1000-2000]"]}]`), "are names that are too long"},
		"RuntimeClass of no pool":   {inFile(`"runtimeClasses": [{"name": "c", "handler": "h", "pool": "p"}]`), `RuntimeClass "c" is of the pool "p", which is not there`},
		"more than the defaults":    {inFile(`"nodes": [{"names": ["n1"]}], "workloads": [{"namespace": "ns", "pods": [{"moreTolerations": [], "pods": []}]}]`), "moreTolerations stand behind defaultTolerations"},
		"very long":                 {inFile(`"` + strings.Repeat("x", 1<<20) + `": 1`), `unknown field "xxxx`},
		"very long in YAML":         {"kind: " + strings.Repeat("x", 1<<20), `kind is "xxxx`},
		"control characters":        {inFile(`"\u001b[31m": 1`), `unknown field "\x1b[31m"`},
		"YAML: no mapping":          {"- a\n- b\n", "line 1: the file is not an inventory"},
		"YAML: wrong":               {"apiVersion: [\n", "yaml: line 1: did not find expected node content"},
		"YAML: where":               {"apiVersion: " + APIVersion + "\nkind: Inventory\nnodes:\n- names: [a]\n- names:\n  - b\n  lables: {}\n", `line 5: nodes[1]: unknown field "lables"`},
		"YAML: number":              {"apiVersion: " + APIVersion + "\nkind: Inventory\nnodes:\n- names: [a]\n  labels: {a: 8}\n", "line 4: nodes[0]: labels cannot be a number"},
		"YAML: number in octal":     {"apiVersion: " + APIVersion + "\nkind: Inventory\nnodes:\n- names: [a]\n  labels:\n    a: 0x8\n", `line 6: "0x8" is not written as in JSON: put it in quotes if it is a text`},
		"YAML: two documents":       {"apiVersion: " + APIVersion + "\nkind: Inventory\n---\na: b\n", "line 3: the file has more than one YAML document"},
		"YAML: alias":               {"a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: [*b, *b, *b, *b, *b, *b, *b, *b, *b]\n", "line 1: anchors and aliases have no place in an inventory"},
		"YAML: merge":               {"a: {b: c}\n<<: {d: e}\n", "line 2: a key has to be a text"},
		"YAML: binary":              {"apiVersion: !!binary aGVsbG8=\n", `line 1: "!!binary" has no place in an inventory`},
		"YAML: key that is no text": {"? [a]\n: b\n", "line 1: a key has to be a text"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inv, err := Read(strings.NewReader(c.text))
			if err == nil {
				t.Fatalf("read as %+v", inv)
			}
			if wrong := (*FileError)(nil); !errors.As(err, &wrong) {
				t.Errorf("%T, want a *FileError", err)
			}
			if got := err.Error(); !strings.Contains(got, c.want) || len(got) > 400 || strings.Contains(got, "\n") {
				t.Errorf("got  %.500s\nwant %s", got, c.want)
			}
		})
	}
}

// A file that ends early is not read, wherever that is.
func TestTruncatedFiles(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "fleet.json"))
	if err != nil {
		t.Fatal(err)
	}
	whole := len(strings.TrimSpace(string(text)))
	for end := 1; end < whole; end += 7 {
		if _, err := Read(strings.NewReader(string(text[:end]))); err == nil {
			t.Errorf("the first %d of %d bytes were read", end, whole)
		} else if !strings.Contains(err.Error(), "the file ends before the inventory does") {
			t.Fatalf("the first %d of %d bytes: %v", end, whole, err)
		}
	}
}

// What differs in one part of its name is another one.
func TestNamesThatDiffer(t *testing.T) {
	inv, err := Read(strings.NewReader(inFile(`"podDisruptionBudgets": [{"namespace": "x", "name": "a"}, {"namespace": "y", "name": "a"}, {"namespace": "x", "name": "b"}],
		"nodes": [], "workloads": [{"kind": "DaemonSet", "namespace": "x", "name": "a", "template": {}}, {"kind": "Deployment", "namespace": "x", "name": "a", "template": {}},
		{"group": "apps.kruise.io", "kind": "DaemonSet", "namespace": "x", "name": "a", "template": {}}, {"namespace": "x"}, {"namespace": "y"},
		{"group": "apps", "kind": "StatefulSet", "namespace": "x", "name": "A name: that only an owner has", "template": {}}]`)))
	if err != nil || len(inv.Budgets) != 3 || len(inv.Workloads) != 4 {
		t.Fatalf("%v, read %+v", err, inv)
	}
	if last := inv.Workloads[3].Owner; last.Kind != "StatefulSet" || last.Group != "" {
		t.Errorf("%+v is a StatefulSet of Kubernetes itself", last)
	}
}
