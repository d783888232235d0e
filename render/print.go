package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/nodepools/nodepools/api/sanitize"
)

// WriteYAML prints Kubernetes objects, or other values that marshal to a JSON
// object, as a stream of YAML documents separated by ---. The same objects give
// the same bytes, with fields in the order in which people write manifests, and
// multi-line strings as blocks. Strings with invisible characters, or with a
// command to a CI runner, are quoted and escaped.
//
// Fields that the Go types print although nobody has set them are omitted:
// null, a status that reports nothing, and empty structs that mean the same as
// their absence. An empty map with a meaning, such as emptyDir: {}, stays.
//
// On an error, a part of the objects may have been written.
func WriteYAML(w io.Writer, objects ...any) error {
	for i, object := range objects {
		node, err := toYAML(object)
		if err != nil {
			return fmt.Errorf("print object %d of %d: %w", i+1, len(objects), err)
		}
		var text bytes.Buffer
		if i > 0 {
			text.WriteString("---\n")
		}
		encoder := yaml.NewEncoder(&text)
		if err := errors.Join(encoder.Encode(node), encoder.Close()); err != nil {
			return fmt.Errorf("print object %d of %d: %w", i+1, len(objects), err)
		}
		if _, err := io.WriteString(w, sanitize.YAML(text.String())); err != nil {
			return err
		}
	}
	return nil
}

// WriteJSON prints a document as indented JSON. Strings are sanitized as in
// [WriteYAML]; no field is omitted.
func WriteJSON(w io.Writer, document any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return err
	}
	_, err := io.WriteString(w, sanitize.JSON(text.String()))
	return err
}

// toYAML marshals through JSON, as Kubernetes does.
func toYAML(object any) (*yaml.Node, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // a large number must not become 1e+06
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil {
		return nil, err
	}
	if fields == nil {
		return nil, errors.New("there is no object")
	}
	if isHollow(fields["status"]) {
		delete(fields, "status")
	}
	return nodeOf(fields), nil
}

// hollow are structs that the Go types print even when they are empty, and that
// mean the same when they are absent.
var hollow = []string{"metadata", "resources", "spec", "strategy", "updateStrategy"}

func nodeOf(value any) *yaml.Node {
	switch value := value.(type) {
	case map[string]any:
		node := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
		for _, key := range orderedKeys(value) {
			child := value[key]
			if child == nil || slices.Contains(hollow, key) && isEmptyMap(child) {
				continue
			}
			node.Content = append(node.Content, textNode(key), nodeOf(child))
		}
		return node
	case []any:
		node := &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
		for _, item := range value {
			node.Content = append(node.Content, nodeOf(item))
		}
		return node
	case string:
		return textNode(value)
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagBool, Value: fmt.Sprint(value)}
	case json.Number:
		tag := yaml.NodeTagInt
		if strings.ContainsAny(value.String(), ".eE") {
			tag = yaml.NodeTagFloat
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value.String()}
	default: // null within a list
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagNull, Value: "null"}
	}
}

// textNode quotes strings that YAML 1.1, which the API server reads, does not
// take for text.
func textNode(text string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: text}
	switch {
	case sanitize.NeedsQuotes(text):
		// Only a quoted string can have escapes, and quoted text does not begin a line.
		node.Style = yaml.DoubleQuotedStyle
	case strings.Contains(text, "\n"):
		node.Style = yaml.LiteralStyle
	case text == "<<", yaml.IsYaml1_1NonString(node):
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// firstFields go before the order that kyaml knows, which has no place for the
// fields of taints, tolerations and selectors.
var firstFields = []string{"apiVersion", "kind", "metadata", "name", "key", "operator", "value", "values", "effect"}

// orderedKeys sorts the keys of a map as people write them: those with a known
// place first, the rest by name.
func orderedKeys(fields map[string]any) []string {
	keys := make([]string, 0, len(fields))
	for key := range fields {
		keys = append(keys, key)
	}
	rank := func(key string) int {
		if i := slices.Index(firstFields, key); i >= 0 {
			return i
		}
		if i, known := yaml.FieldOrder[key]; known {
			return len(firstFields) + i
		}
		return len(firstFields) + len(yaml.FieldOrder) + 1
	}
	slices.SortFunc(keys, func(a, b string) int {
		if a, b := rank(a), rank(b); a != b {
			return a - b
		}
		return strings.Compare(a, b)
	})
	return keys
}

func isEmptyMap(value any) bool {
	fields, isMap := value.(map[string]any)
	return isMap && !slices.ContainsFunc(orderedKeys(fields), func(key string) bool { return fields[key] != nil })
}

// isHollow reports whether all fields of a part of an object are zero.
func isHollow(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, child := range value {
			if !isHollow(child) {
				return false
			}
		}
		return true
	case []any:
		return len(value) == 0
	case json.Number:
		return value.String() == "0"
	default:
		return value == nil || value == "" || value == false
	}
}
