// Package output writes documents: as JSON or YAML for programs and for kubectl, to a
// stream, or to files, each of them whole or not at all. Start with [Marshal] and
// [ReplaceFile].
package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/render"
)

// Print prints in one write, so that a reader gets all or nothing.
func Print(w io.Writer, text []byte) error {
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// Marshal returns a document for programs, as json or yaml.
func Marshal(format string, document any) ([]byte, error) {
	if format == "yaml" {
		return MarshalObjects(format, document)
	}
	var text bytes.Buffer
	err := render.WriteJSON(&text, document)
	return text.Bytes(), err
}

// MarshalObjects returns Kubernetes objects as kubectl takes them: YAML documents, or
// a List in JSON.
func MarshalObjects[T any](format string, objects ...T) ([]byte, error) {
	if format == "yaml" {
		documents := make([]any, len(objects))
		for i, object := range objects {
			documents[i] = object
		}
		var text bytes.Buffer
		err := render.WriteYAML(&text, documents...)
		return text.Bytes(), err
	}
	items := make([]json.RawMessage, len(objects))
	for i, object := range objects {
		// By way of YAML, which leaves out what only the Go types say.
		document, err := MarshalObjects("yaml", object)
		if err != nil {
			return nil, err
		}
		if items[i], err = yaml.YAMLToJSON(document); err != nil {
			return nil, err
		}
	}
	return Marshal(format, struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}{"v1", "List", items})
}
