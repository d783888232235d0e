package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/render"
)

// outputFlags are the format of what a command prints, and the file that it goes to.
// Each command that prints a document has both, by these names.
type outputFlags struct {
	format, file string
	formats      []string
}

// standardOutput stands for standard output in place of the name of a file.
const standardOutput = "-"

// register adds the flags. The first format is the default.
func (o *outputFlags) register(cmd *cobra.Command, formats ...string) {
	o.formats = formats
	cmd.Flags().StringVarP(&o.format, "output", "o", formats[0], "`format` of the output: "+oneOf(formats))
	cmd.Flags().StringVar(&o.file, "output-file", standardOutput, "`file` to write the output to, replaced as a whole; - is standard output")
	completeFlag(cmd, "output", fixed(formats...))
	completeFlag(cmd, "output-file", files())
}

func (o *outputFlags) check() error {
	switch {
	case !slices.Contains(o.formats, o.format):
		return usagef("--output %q is not known: must be %s; to write a file, use --output-file", o.format, oneOf(o.formats))
	case o.file == "":
		return usagef("--output-file is empty: name a file, or - for standard output")
	}
	return nil
}

// write prints a document, or replaces the file by it: whole or not at all.
func (o *outputFlags) write(stdout io.Writer, document []byte) error {
	if o.file == standardOutput {
		return printAll(stdout, document)
	}
	return replaceFile(o.file, document)
}

// printAll prints in one write, so that a reader gets all or nothing.
func printAll(w io.Writer, text []byte) error {
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// marshal returns a document for programs, as json or yaml.
func marshal(format string, document any) ([]byte, error) {
	if format == "yaml" {
		return marshalObjects(format, document)
	}
	var text bytes.Buffer
	err := render.WriteJSON(&text, document)
	return text.Bytes(), err
}

// objectFormats are those of commands that print manifests.
var objectFormats = []string{"yaml", "json"}

// marshalObjects returns Kubernetes objects as kubectl takes them: YAML documents, or
// a List in JSON.
func marshalObjects[T any](format string, objects ...T) ([]byte, error) {
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
		document, err := marshalObjects("yaml", object)
		if err != nil {
			return nil, err
		}
		if items[i], err = yaml.YAMLToJSON(document); err != nil {
			return nil, err
		}
	}
	return marshal(format, struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}{"v1", "List", items})
}

// oneOf lists the values that a flag takes.
func oneOf(values []string) string {
	last := len(values) - 1
	if last == 0 {
		return values[0]
	}
	return strings.Join(values[:last], ", ") + " or " + values[last]
}
