package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the template and the style
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"sync"

	"github.com/nodepools/nodepools/apply/preview/review"
)

// Options say how a review is written.
type Options struct {
	// Summary omits everything but the summary.
	Summary bool
}

var (
	//go:embed page.html
	layout string
	//go:embed style.css
	style string

	// pageTemplate is parsed when the first page is written: a controller, which writes none,
	// does not keep it.
	pageTemplate = sync.OnceValue(func() *template.Template {
		all := template.Must(template.New("page").Funcs(template.FuncMap{
			"word": review.Word, "shown": shown, "count": review.Count, "happened": review.Happened,
			"list": list, "kind": kind, "sign": sign, "tone": tone,
			"cutLines": cutLines, "leftLines": leftLines, "at": within(""),
		}).Parse(layout))
		template.Must(all.New("clusters").Parse(clustersLayout))
		return all
	})
)

// policy allows the browser to use a style, and nothing else from anywhere.
func policy(style string) string {
	return fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'", checksum(style))
}

// within returns a function that names the anchors of one review, of which a page may
// have several.
func within(prefix string) func(string) string {
	return func(id string) string { return prefix + id }
}

// Write writes a review.
func Write(w io.Writer, r *review.Review, o Options) error {
	content := newDocument(r, o)
	content.Policy, content.Style = policy(style), template.CSS(style)
	return execute(w, "page", "", content)
}

// execute writes a template whose anchors begin with a prefix. Nothing is written when
// it fails.
func execute(w io.Writer, name, prefix string, content any) error {
	written, err := pageTemplate().Clone() // one that was executed takes no function any more
	var page bytes.Buffer
	if err == nil {
		err = written.Funcs(template.FuncMap{"at": within(prefix)}).ExecuteTemplate(&page, name, content)
	}
	if err != nil {
		return fmt.Errorf("write the review as a page: %w", err)
	}
	_, err = w.Write(page.Bytes())
	return err
}

// document is the input of the template.
type document struct {
	*review.Review
	// Cluster is its name, where the page has several; empty for the only one.
	Cluster string
	Options Options
	Policy  string
	Style   template.CSS
	Counts  []review.Said
	Index   []entries
	Chunks  []chunk
	// Pictured reports that there are nodes to draw.
	Pictured bool
	// The sections, in the order of the page.
	Guards, Schedule, Consequences, Moving, Remarks []section
}

func newDocument(r *review.Review, o Options) *document {
	d := &document{Review: r, Options: o, Counts: r.Summary.Counts.Say()}
	if o.Summary {
		return d
	}
	pools := pools(r)
	d.Index, d.Chunks = index(pools), chunks(pools)
	d.Pictured = slices.ContainsFunc(pools, func(p pool) bool { return len(p.Rows) > 0 })
	d.Guards, d.Schedule = sections(review.Guards(r)), sections(review.Schedule(r))
	d.Consequences, d.Moving, d.Remarks = sections(review.Consequences(r.Impact)), nodes(r), sections(review.Remarks(r))
	return d
}

// fewObjects is the number of manifests up to which they are unfolded.
const fewObjects = 6

// checksum returns the hash by which a security policy allows a style.
func checksum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}
