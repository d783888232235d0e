package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/apply/review"
	"github.com/nodepools/nodepools/apply/review/markdown"
	"github.com/nodepools/nodepools/apply/review/page"
	"github.com/nodepools/nodepools/apply/review/text"
	"github.com/nodepools/nodepools/render"
)

// diffOutput is how a review is printed.
type diffOutput struct {
	format, color string
	summary       bool
	// marker and maxBytes are those of a comment on a pull request.
	marker   string
	maxBytes int
}

// diffFormats write a review, each in its form.
var diffFormats = map[string]func(diffOutput, io.Writer, *review.Review) error{
	"text": func(o diffOutput, w io.Writer, r *review.Review) error {
		return text.Write(w, r, text.Options{Color: o.color == "always", Summary: o.summary})
	},
	"markdown": func(o diffOutput, w io.Writer, r *review.Review) error {
		return markdown.Write(w, r, markdown.Options{Summary: o.summary, Marker: o.marker, MaxBytes: o.maxBytes})
	},
	"html": func(o diffOutput, w io.Writer, r *review.Review) error {
		return page.Write(w, r, page.Options{Summary: o.summary})
	},
	"json": func(o diffOutput, w io.Writer, r *review.Review) error {
		var document bytes.Buffer
		encoder := json.NewEncoder(&document)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(o.chosen(r)); err != nil {
			return err
		}
		_, err := io.WriteString(w, sanitize.JSON(document.String()))
		return err
	},
	"yaml": func(o diffOutput, w io.Writer, r *review.Review) error {
		return render.WriteYAML(w, o.chosen(r))
	},
}

// chosen is the document, or of it what comes first.
func (o diffOutput) chosen(r *review.Review) any {
	if !o.summary {
		return r
	}
	return struct {
		APIVersion string          `json:"apiVersion"`
		Kind       string          `json:"kind"`
		Compared   review.Compared `json:"compared"`
		Summary    review.Summary  `json:"summary"`
	}{r.APIVersion, r.Kind, r.Compared, r.Summary}
}

var colorChoices = []string{"auto", "always", "never"}

func (o *diffOutput) register(cmd *cobra.Command) {
	formats := slices.Sorted(maps.Keys(diffFormats))
	cmd.Flags().StringVarP(&o.format, "output", "o", "text", "`format` of the output: text, json, yaml, markdown or html")
	cmd.Flags().StringVar(&o.color, "color", "auto", "`when` to color text: always, never, or auto: on a terminal, unless NO_COLOR is set")
	cmd.Flags().BoolVar(&o.summary, "summary", false, "print the summary alone")
	cmd.Flags().IntVar(&o.maxBytes, "max-bytes", markdown.DefaultMaxBytes, "`number` of bytes that markdown may have; what does not fit is counted")
	cmd.Flags().StringVar(&o.marker, "marker", markdown.DefaultMarker, "`name` by which a bot finds the comment, where a pull request has several")
	for flag, values := range map[string][]string{"output": formats, "color": colorChoices} {
		if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // the flags stand in the lines above
		}
	}
}

func (o *diffOutput) check(cmd *cobra.Command) error {
	if diffFormats[o.format] == nil {
		return usagef("--output %q is not known: must be text, json, yaml, markdown or html", o.format)
	}
	for _, flag := range []string{"max-bytes", "marker"} {
		if cmd.Flags().Changed(flag) && o.format != "markdown" {
			return usagef("--%s says nothing without -o markdown", flag)
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

// colored tells whether what is written may hold colours. See no-color.org.
func (o *diffOutput) colored(w io.Writer) bool {
	if o.color != "auto" {
		return o.color == "always"
	}
	file, isFile := w.(*os.File)
	return isFile && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
}

// write writes the review to standard output, whole or not at all.
func (o *diffOutput) write(out io.Writer, r *review.Review) error {
	var document bytes.Buffer
	decided := *o
	if decided.color = "never"; o.colored(out) {
		decided.color = "always"
	}
	if err := diffFormats[o.format](decided, &document, r); err != nil {
		return err
	}
	return printAll(out, document.Bytes())
}
