package main

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/cmd/nodepools/complete"
	"github.com/nodepools/nodepools/render/output"
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
	complete.Flag(cmd, "output", complete.Fixed(formats...))
	complete.Flag(cmd, "output-file", complete.Files())
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

// writeDocument writes a document: as text, which writeText writes, or for programs.
func (o *outputFlags) writeDocument(stdout io.Writer, document any, writeText func(io.Writer) error) error {
	if o.format != "text" {
		marshaled, err := output.Marshal(o.format, document)
		if err != nil {
			return err
		}
		return o.write(stdout, marshaled)
	}
	var text bytes.Buffer
	if err := writeText(&text); err != nil {
		return err
	}
	return o.write(stdout, text.Bytes())
}

// write prints a document, or replaces the file by it: whole or not at all.
func (o *outputFlags) write(stdout io.Writer, document []byte) error {
	if o.file == standardOutput {
		return output.Print(stdout, document)
	}
	return output.ReplaceFile(o.file, document)
}

// oneOf lists the values that a flag takes.
func oneOf(values []string) string {
	last := len(values) - 1
	if last == 0 {
		return values[0]
	}
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// objectFormats are those of commands that print manifests.
var objectFormats = []string{"yaml", "json"}
