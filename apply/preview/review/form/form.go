// Package form writes a review in the form that is asked for by its name. Start with
// [Write], and with [WriteClusters] for the reviews of several clusters.
package form

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/apply/preview/review/markdown"
	"github.com/nodepools/nodepools/apply/preview/review/page"
	"github.com/nodepools/nodepools/apply/preview/review/text"
	"github.com/nodepools/nodepools/render/output"
)

// The names of the forms. Text is for a terminal, Markdown for the comment on a pull
// request, HTML is a page, and the others are for programs, which get everything.
const (
	Text     = "text"
	JSON     = "json"
	YAML     = "yaml"
	Markdown = "markdown"
	HTML     = "html"
)

// Names returns the names of all forms, the one for people first.
func Names() []string { return []string{Text, JSON, YAML, Markdown, HTML} }

// Options say how a review is written.
type Options struct {
	// Form is one of [Names].
	Form string
	// Summary leaves out all but what comes first.
	Summary bool
	// Color marks text with ANSI colours.
	Color bool
	// Marker and MaxBytes are those of [markdown.Options].
	Marker   string
	MaxBytes int
}

// Write returns the document of a review.
func Write(r *review.Review, o Options) ([]byte, error) {
	return write(r, o, writers[*review.Review]{text: text.Write, markdown: markdown.Write, page: page.Write, summary: summary})
}

// WriteClusters returns the document of the reviews of several clusters.
func WriteClusters(r *review.Reviews, o Options) ([]byte, error) {
	return write(r, o, writers[*review.Reviews]{
		text: text.WriteClusters, markdown: markdown.WriteClusters, page: page.WriteClusters, summary: summaryOfClusters,
	})
}

// writers write a review, or those of several clusters.
type writers[R any] struct {
	text     func(io.Writer, R, text.Options) error
	markdown func(io.Writer, R, markdown.Options) error
	page     func(io.Writer, R, page.Options) error
	// summary is what a program gets where it asks for no more.
	summary func(R) any
}

func write[R any](r R, o Options, w writers[R]) ([]byte, error) {
	if !slices.Contains(Names(), o.Form) {
		return nil, fmt.Errorf("a review has no form %q", o.Form)
	}
	var document bytes.Buffer
	var err error
	switch o.Form {
	case Text:
		err = w.text(&document, r, text.Options{Color: o.Color, Summary: o.Summary})
	case Markdown:
		err = w.markdown(&document, r, markdown.Options{Summary: o.Summary, Marker: o.Marker, MaxBytes: o.MaxBytes})
	case HTML:
		err = w.page(&document, r, page.Options{Summary: o.Summary})
	default:
		if o.Summary {
			return output.Marshal(o.Form, w.summary(r))
		}
		return output.Marshal(o.Form, r)
	}
	return document.Bytes(), err
}
