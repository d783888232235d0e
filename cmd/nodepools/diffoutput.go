package main

import (
	"bytes"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/apply/preview/review/markdown"
	"github.com/nodepools/nodepools/apply/preview/review/page"
	"github.com/nodepools/nodepools/apply/preview/review/text"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
	"github.com/nodepools/nodepools/render/output"
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

var diffFormats = []string{"text", "json", "yaml", "markdown", "html"}

// document is the review in the form that is asked for.
func (o *diffOutput) document(r *review.Review, color bool) ([]byte, error) {
	var document bytes.Buffer
	var err error
	switch o.format {
	case "text":
		err = text.Write(&document, r, text.Options{Color: color, Summary: o.summary})
	case "markdown":
		err = markdown.Write(&document, r, markdown.Options{Summary: o.summary, Marker: o.marker, MaxBytes: o.maxBytes})
	case "html":
		err = page.Write(&document, r, page.Options{Summary: o.summary})
	default:
		return output.Marshal(o.format, o.chosen(r))
	}
	return document.Bytes(), err
}

// chosen is the document, or of it what comes first.
func (o *diffOutput) chosen(r *review.Review) any {
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

// documentOfClusters is the reviews of several clusters in the form that is asked for.
func (o *diffOutput) documentOfClusters(r *review.Reviews, color bool) ([]byte, error) {
	var document bytes.Buffer
	var err error
	switch o.format {
	case "text":
		err = text.WriteClusters(&document, r, text.Options{Color: color, Summary: o.summary})
	case "markdown":
		err = markdown.WriteClusters(&document, r, markdown.Options{Summary: o.summary, Marker: o.marker, MaxBytes: o.maxBytes})
	case "html":
		err = page.WriteClusters(&document, r, page.Options{Summary: o.summary})
	default:
		return output.Marshal(o.format, o.chosenOfClusters(r))
	}
	return document.Bytes(), err
}

// chosenOfClusters is the document, or of it and of each cluster what comes first.
func (o *diffOutput) chosenOfClusters(r *review.Reviews) any {
	if !o.summary {
		return r
	}
	type cluster struct {
		Name      string          `json:"name"`
		Inventory string          `json:"inventory"`
		Review    any             `json:"review"`
		Failure   *review.Failure `json:"failure"`
	}
	clusters := []cluster{}
	for _, each := range r.Clusters {
		short := cluster{Name: each.Name, Inventory: each.Inventory, Failure: each.Failure}
		if each.Review != nil {
			short.Review = o.chosen(each.Review)
		}
		clusters = append(clusters, short)
	}
	return struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Summary    review.Summary `json:"summary"`
		Clusters   []cluster      `json:"clusters"`
		Notes      []string       `json:"notes"`
	}{r.APIVersion, r.Kind, r.Summary, clusters, r.Notes}
}

var colorChoices = []string{"auto", "always", "never"}

func (o *diffOutput) register(cmd *cobra.Command) {
	o.outputFlags.register(cmd, diffFormats...)
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
		if cmd.Flags().Changed(flag) && o.format != "markdown" {
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

// notesOnBase say that the base is broken where standard output is not for people to
// read as it comes.
func (o *diffOutput) notesOnBase(compared review.Compared) []string {
	if compared.BrokenBase == nil || o.format == "text" {
		return nil
	}
	return append([]string{compared.BrokenText()}, compared.BrokenBase.List()...)
}

// colored reports whether what is written may hold colours. See no-color.org.
func (o *diffOutput) colored(w io.Writer) bool {
	if o.color != "auto" {
		return o.color == "always"
	}
	file, isFile := w.(*os.File)
	return isFile && o.file == standardOutput && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
}

// write writes the review, whole or not at all.
func (o *diffOutput) write(out io.Writer, r *review.Review) error {
	document, err := o.document(r, o.colored(out))
	if err != nil {
		return err
	}
	return o.outputFlags.write(out, document)
}

// writeClusters writes the reviews, whole or not at all.
func (o *diffOutput) writeClusters(out io.Writer, r *review.Reviews) error {
	document, err := o.documentOfClusters(r, o.colored(out))
	if err != nil {
		return err
	}
	return o.outputFlags.write(out, document)
}
