package render

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// A position in a file of the tree, line and column counted from 1, the column in
// characters.
type position struct {
	file         string
	line, column int
}

// String returns file:line.
func (p position) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

// locate returns the node of the field with that path (as field.Path writes
// it): the key for a field of a map, the item for one of a list. Where the
// field does not exist, it is the nearest enclosing node.
func locate(root *yaml.Node, path string) *yaml.Node {
	at, _ := descend(root, path)
	return at
}

// descend is locate, and the value of the field; nil where it does not exist.
func descend(root *yaml.Node, path string) (at, value *yaml.Node) {
	at, value = root, root
	for path != "" {
		key, child, rest := step(value, path)
		if key == nil {
			return at, nil
		}
		at, value, path = key, child, strings.TrimPrefix(rest, ".")
	}
	return at, resolved(value)
}

// blame returns the node and the path of the field at fault, and reports whether
// the field is written. Kubernetes blames a whole map of labels for one of its keys
// or values, which it gives as the bad value; blame finds that one.
func blame(root *yaml.Node, err *field.Error) (at *yaml.Node, path string, written bool) {
	at, value := descend(root, err.Field)
	bad, isText := err.BadValue.(string)
	if !isText || value == nil {
		return at, err.Field, value != nil
	}
	for _, entry := range entriesOf(value) {
		if key := resolved(entry.key).Value; key == bad || resolved(entry.value).Value == bad {
			return entry.key, err.Field + "[" + key + "]", true
		}
	}
	return at, err.Field, true
}

// step follows one element of the path. A key in brackets may itself contain
// brackets and dots, so the tree decides where it ends.
func step(node *yaml.Node, path string) (at, value *yaml.Node, rest string) {
	node = resolved(node)
	switch node.Kind {
	case yaml.MappingNode:
		longest := -1
		for _, entry := range entriesOf(node) {
			name := resolved(entry.key).Value
			tail, found := strings.CutPrefix(path, name)
			if strings.HasPrefix(path, "[") {
				tail, found = strings.CutPrefix(path, "["+name+"]")
			}
			if found && len(name) > longest && (tail == "" || tail[0] == '.' || tail[0] == '[') {
				at, value, rest, longest = entry.key, entry.value, tail, len(name)
			}
		}
	case yaml.SequenceNode:
		number, tail, found := strings.Cut(strings.TrimPrefix(path, "["), "]")
		i, err := strconv.Atoi(number)
		if !found || err != nil || i < 0 || i >= len(node.Content) {
			return nil, nil, ""
		}
		return node.Content[i], node.Content[i], tail
	}
	return at, value, rest
}
