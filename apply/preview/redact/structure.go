package redact

import (
	"bytes"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// structure searches a text as YAML, of which JSON is a subset. A text that
// cannot be parsed was already searched as plain text.
func (s *search) structure(text string, depth int) bool {
	if !strings.ContainsAny(text, ":{[\"'\n") && !strings.HasPrefix(text, "-") {
		return false
	}
	for _, document := range documents(text) {
		if s.node(document, "", depth) {
			return true
		}
	}
	return false
}

// documents returns those of a stream, up to the first that cannot be parsed.
func documents(text string) (all []*yaml.Node) {
	defer func() { _ = recover() }() // what makes the parser panic was already searched as plain text
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	for {
		document := &yaml.Node{}
		if err := decoder.Decode(document); err != nil {
			return all // at the end of the stream, too
		}
		all = append(all, document)
	}
}

// node searches a part of a document that has a name. Everything below the name
// of a secret is a secret, whatever its own name.
func (s *search) node(node *yaml.Node, name string, depth int) bool {
	switch node.Kind {
	case yaml.ScalarNode:
		return s.scalar(node.Value, name, depth)
	case yaml.AliasNode: // its anchor was searched under another name
		if !secretName(name) || node.Alias == nil || node.Alias.Kind == yaml.ScalarNode && none(name, node.Alias.Value) {
			return false
		}
		return s.add(node.Alias.Value)
	case yaml.MappingNode:
		return s.mapping(node, name, depth)
	}
	var words strings.Builder
	for _, item := range node.Content {
		if s.node(item, name, depth) {
			return true
		}
		if item.Kind == yaml.ScalarNode {
			words.WriteString(item.Value + " ")
		}
	}
	return s.flagged(words.String()) // a command line as a list
}

func (s *search) scalar(value, name string, depth int) bool {
	if none(name, value) {
		return false
	}
	return secretName(name) && s.add(value) || s.text(value, depth+1)
}

// mapping searches the fields of an object. In {name: TOKEN, value: abc} one
// field names another.
func (s *search) mapping(node *yaml.Node, name string, depth int) bool {
	named := ""
	for i := 0; i+1 < len(node.Content); i += 2 {
		switch key, value := strings.ToLower(node.Content[i].Value), node.Content[i+1]; key {
		case "name", "key", "header", "variable":
			if value.Kind == yaml.ScalarNode && secretName(value.Value) {
				named = value.Value
			}
		}
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		field := key.Value
		switch lower := strings.ToLower(field); {
		case secretName(name):
			field = name
		case named != "" && (lower == "value" || lower == "values" || lower == "default"):
			field = named
		}
		if s.node(key, "", depth) || s.node(value, field, depth) {
			return true
		}
	}
	return false
}
