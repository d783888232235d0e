package main

import (
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/apply/preview/review/form"
	"github.com/nodepools/nodepools/apply/preview/review/markdown"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

// diffOutput is how a review is printed.
type diffOutput struct {
	outputFlags
	color   string
	summary bool
	// marker and maxBytes are those of a comment on a pull request.
	marker   string
	maxBytes int
}

var colorChoices = []string{"auto", "always", "never"}

func (o *diffOutput) register(cmd *cobra.Command) {
	o.outputFlags.register(cmd, form.Names()...)
	cmd.Flags().StringVar(&o.color, "color", "auto", "`when` to color text: always, never, or auto: on a terminal, unless NO_COLOR is set")
	cmd.Flags().BoolVar(&o.summary, "summary", false, "print the summary alone")
	cmd.Flags().IntVar(&o.maxBytes, "max-bytes", markdown.DefaultMaxBytes, "`number` of bytes that markdown may have; what does not fit is counted")
	cmd.Flags().StringVar(&o.marker, "marker", markdown.DefaultMarker, "`name` by which a bot finds the comment, where a pull request has several")
	complete.Flag(cmd, "color", complete.Fixed(colorChoices...))
	complete.Flag(cmd, "max-bytes", complete.Nothing)
	complete.Flag(cmd, "marker", complete.Nothing)
}

func (o *diffOutput) check(cmd *cobra.Command) error {
	if err := o.outputFlags.check(); err != nil {
		return err
	}
	for _, flag := range []string{"max-bytes", "marker"} {
		if cmd.Flags().Changed(flag) && o.format != form.Markdown {
			return usagef("--%s requires -o markdown", flag)
		}
	}
	if o.maxBytes < 1 {
		return usagef("--max-bytes must be at least 1, and is %d", o.maxBytes)
	}
	if !slices.Contains(colorChoices, o.color) {
		return usagef("--color %q is not known: must be auto, always or never", o.color)
	}
	return nil
}

// colored reports whether what is written may hold colours.
func (o *diffOutput) colored(w io.Writer) bool {
	if o.color != "auto" {
		return o.color == "always"
	}
	return o.file == standardOutput && takesColor(w)
}

// takesColor reports whether colours are wanted on what is written to. See no-color.org.
func takesColor(w io.Writer) bool { return os.Getenv("NO_COLOR") == "" && isTerminal(w) }

// isTerminal reports whether what is written to is a terminal that knows escape sequences.
func isTerminal(w io.Writer) bool {
	file, isFile := w.(*os.File)
	return isFile && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
}

// isInteractive reports whether somebody who types can be read from.
func isInteractive(r io.Reader) bool {
	file, isFile := r.(*os.File)
	return isFile && term.IsTerminal(int(file.Fd()))
}

// options are those of a document for out.
func (o *diffOutput) options(out io.Writer) form.Options {
	return form.Options{Form: o.format, Summary: o.summary, Color: o.colored(out), Marker: o.marker, MaxBytes: o.maxBytes}
}

// write writes the review, whole or not at all.
func (o *diffOutput) write(out io.Writer, r *review.Review) error {
	document, err := form.Write(r, o.options(out))
	if err != nil {
		return err
	}
	return o.outputFlags.write(out, document)
}

// writeClusters writes the reviews, whole or not at all.
func (o *diffOutput) writeClusters(out io.Writer, r *review.Reviews) error {
	document, err := form.WriteClusters(r, o.options(out))
	if err != nil {
		return err
	}
	return o.outputFlags.write(out, document)
}
