package inventory

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inFile is a file with objects.
func inFile(objects ...string) string {
	return `{"apiVersion": "v1", "kind": "List", "items": [` + "\n" +
		strings.Join(append([]string{`{"apiVersion": "` + APIVersion + `", "kind": "Inventory"}`}, objects...), ",\n") + "\n]}"
}

// object is one of the kind, with more.
func object(version, kind, name, more string) string {
	return fmt.Sprintf(`{"apiVersion": %q, "kind": %q, "metadata": {"name": %q}%s}`, version, kind, name, more)
}

func TestWhatCannotBeRead(t *testing.T) {
	head := func(text string) string { return `{"apiVersion": "v1", "kind": "List", "items": [` + text + `]}` }
	node := object("v1", "Node", "n", "")
	const yamlHead = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: " + APIVersion + ", kind: Inventory}\n"
	cases := map[string]struct{ text, want string }{
		"nothing":            {"", "the file is empty"},
		"blanks":             {" \n\t\n", "the file is empty"},
		"another version":    {head(`{"apiVersion": "inventory.nodes.lailin.xyz/v2", "kind": "Inventory", "more": 1}`), `line 1: apiVersion is "inventory.nodes.lailin.xyz/v2", and this version of nodepools reads inventory.nodes.lailin.xyz/v1`},
		"no version":         {head(`{"kind": "Inventory"}`), `line 1: apiVersion is "", and this version`},
		"no List":            {`{"apiVersion": "v1", "kind": "Node"}`, "line 1: the file is not an inventory, which is a List of v1"},
		"no items":           {head(""), "line 1: the file is not an inventory"},
		"as kubectl has it":  {head(node), "line 1: the List is not an inventory: its first item has to be of the kind Inventory"},
		"no object":          {head(`"x"`), "its first item has to be of the kind Inventory"},
		"no JSON":            {"{\n oops }", "line 2: invalid character 'o' looking for beginning of object key string"},
		"a list":             {"[]", "the file is not an inventory"},
		"a text":             {"hello", "the file is not an inventory"},
		"cut off":            {strings.TrimSuffix(inFile(node), "]}"), "the file ends before the inventory does"},
		"no time":            {head(`{"apiVersion": "` + APIVersion + `", "kind": "Inventory", "taken": "yesterday"}`), `taken is "yesterday", and has to be a time such as`},
		"field of the first": {head(`{"apiVersion": "` + APIVersion + `", "kind": "Inventory", "more": 1}`), `unknown field "more"`},
		"something after":    {inFile(node) + "{}", "invalid character"},
		"unknown field":      {inFile(node, object("v1", "Node", "m", `, "lables": {}`)), `line 4: items[2]: strict decoding error: unknown field "lables"`},
		"of a pool":          {inFile(object("nodes.lailin.xyz/v1", "NodePool", "a", `, "spec": {"priorty": 1}`)), `line 3: items[1]: strict decoding error: unknown field "spec.priorty"`},
		"field twice":        {inFile(object("v1", "Node", "n", `, "spec": {}, "spec": {}`)), `line 3: items[1]: strict decoding error: duplicate field "spec"`},
		"wrong type":         {inFile(object("v1", "Node", "n", `, "spec": {"taints": 8}`)), "line 3: items[1]: "},
		"another kind":       {inFile(object("v1", "Secret", "n", "")), `line 3: items[1]: an inventory has no *v1.Secret`},
		"unknown kind":       {inFile(object("example.com/v1", "Thing", "n", "")), `line 3: items[1]: no kind "Thing" is registered for version "example.com/v1"`},
		"a List in it":       {inFile(`{"apiVersion": "v1", "kind": "NodeList", "items": []}`), `line 3: items[1]: an inventory has no "NodeList"`},
		"no kind":            {inFile(`{}`), "line 3: items[1]: "},
		"no name":            {inFile(object("v1", "Node", "N 1", "")), `line 3: items[1]: "N 1" is not the name of a Node`},
		"twice":              {inFile(node, object("v1", "Pod", "n", ""), node), `line 5: items[3]: Node "n" is there twice`},
		"very long":          {inFile(object("v1", "Node", "n", `, "`+strings.Repeat("x", 1<<20)+`": 1`)), `unknown field "xxxx`},
		"control characters": {inFile(object("v1", "Node", "n", `, "\u001b[31m": 1`)), `unknown field`},
		"YAML: wrong":        {"apiVersion: [\n", "yaml: line 1: did not find expected node content"},
		"YAML: where":        {yamlHead + "- {apiVersion: v1, kind: Node, metadata: {name: a}, lables: {}}\n", `items[1]: strict decoding error: unknown field "lables"`},
		"YAML: twice":        {"a: b\na: c\n", `key "a" already set in map`},
		"YAML: alias":        {"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", "excessive aliasing"},
		"YAML: documents":    {yamlHead + "---\na: b\n", "the file has more than one YAML document"},
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
	for end := 1; end < whole; end += 37 {
		if _, err := Read(strings.NewReader(string(text[:end]))); err == nil {
			t.Errorf("the first %d of %d bytes were read", end, whole)
		} else if !strings.Contains(err.Error(), "the file ends before the inventory does") {
			t.Fatalf("the first %d of %d bytes: %v", end, whole, err)
		}
	}
}
