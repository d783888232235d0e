package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// yamlToJSON converts one YAML document to JSON, with each value on its
// original line. Anchors and aliases are refused: with them a short file can
// expand without bound.
func yamlToJSON(data []byte) ([]byte, error) {
	if len(data) > MaxYAMLBytes {
		return nil, &FileError{Err: fmt.Errorf("the file is too large for YAML: more than %d MiB; convert it to JSON", MaxYAMLBytes>>20)}
	}
	var document, another yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, &FileError{Err: errors.New("the file is empty")}
	} else if err != nil {
		return nil, &FileError{Err: errors.New(clip(err.Error()))}
	}
	if err := decoder.Decode(&another); !errors.Is(err, io.EOF) {
		return nil, &FileError{Line: another.Line, Err: errors.New("the file has more than one YAML document")}
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, &FileError{Line: 1, Err: errors.New("the file is not an inventory")}
	}
	w := yamlWriter{line: 1}
	if err := w.value(document.Content[0]); err != nil {
		return nil, err
	}
	return w.out.Bytes(), nil
}

type yamlWriter struct {
	out  bytes.Buffer
	line int
}

func (w *yamlWriter) value(node *yaml.Node) error {
	for ; w.line < node.Line; w.line++ {
		w.out.WriteByte('\n')
	}
	if node.Anchor != "" || node.Kind == yaml.AliasNode {
		return &FileError{node.Line, errors.New("anchors and aliases have no place in an inventory")}
	}
	switch node.Kind {
	case yaml.MappingNode:
		return w.list('{', '}', node.Content, func(i int) byte {
			if i%2 == 1 {
				return ':'
			}
			return ','
		})
	case yaml.SequenceNode:
		return w.list('[', ']', node.Content, func(int) byte { return ',' })
	default:
		return w.scalar(node)
	}
}

func (w *yamlWriter) list(begin, end byte, content []*yaml.Node, before func(int) byte) error {
	w.out.WriteByte(begin)
	for i, child := range content {
		if i > 0 {
			w.out.WriteByte(before(i))
		}
		write := w.value
		if begin == '{' && i%2 == 0 {
			write = w.key
		}
		if err := write(child); err != nil {
			return err
		}
	}
	w.out.WriteByte(end)
	return nil
}

func (w *yamlWriter) key(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode || node.ShortTag() == yaml.MergeTag {
		return &FileError{node.Line, errors.New("a key has to be a text")}
	}
	asText := *node
	asText.Tag = yaml.NodeTagString
	return w.value(&asText)
}

func (w *yamlWriter) scalar(node *yaml.Node) error {
	text := []byte(node.Value)
	switch tag := node.ShortTag(); tag {
	case yaml.NodeTagNull:
		text = []byte("null")
	case yaml.NodeTagInt, yaml.NodeTagFloat, yaml.NodeTagBool:
		if !json.Valid(text) {
			return &FileError{node.Line, fmt.Errorf("%s is not written as in JSON: put it in quotes if it is a text", quote(node.Value))}
		}
	case yaml.NodeTagString, "!!timestamp":
		quoted, err := json.Marshal(node.Value)
		if err != nil {
			return &FileError{node.Line, err}
		}
		text = quoted
	default:
		return &FileError{node.Line, fmt.Errorf("%s has no place in an inventory", quote(tag))}
	}
	w.out.Write(text)
	return nil
}
