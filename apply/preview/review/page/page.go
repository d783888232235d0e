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

	pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
		"word": review.Word, "shown": shown, "count": review.Count, "happened": review.Happened,
		"list": list, "sentence": sentence, "kind": kind, "sign": sign, "tone": tone, "fate": fate, "dots": dots,
		"cutLines": cutLines, "leftLines": leftLines, "recordsOnly": recordsOnly,
	}).Parse(layout))

	// policy allows the browser to use the style, and nothing else from anywhere.
	policy = fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'", checksum(style))
)

// Write writes a review.
func Write(w io.Writer, r *review.Review, o Options) error {
	content := document{
		Review: r, Options: o, Policy: policy, Style: template.CSS(style),
		Counts: counts(r),
	}
	if !o.Summary {
		content.fill(r)
	}
	// Nothing is written when the template fails.
	var page bytes.Buffer
	if err := pageTemplate.Execute(&page, content); err != nil {
		return fmt.Errorf("write the review as a page: %w", err)
	}
	_, err := w.Write(page.Bytes())
	return err
}

// document is the input of the template.
type document struct {
	*review.Review
	Options Options
	Policy  string
	Style   template.CSS
	Counts  []count
	Index   []entries
	Chunks  []chunk
	// Pictured reports that there are nodes to draw.
	Pictured bool
	Nodes    nodes    // replaces the review's own, as do the following
	Impact   *impacts // nil where pods are not known
	// RuntimeClasses are those that belong to no pool.
	RuntimeClasses []*review.Object
	Conflicts      folded[review.Conflict]
	Contests       folded[review.Contest]
	Problems       folded[string]
}

// fill adds everything but the summary.
func (d *document) fill(r *review.Review) {
	pools := pools(r)
	d.Index, d.Chunks = index(pools), chunks(pools)
	d.Pictured = slices.ContainsFunc(pools, func(p pool) bool { return len(p.Rows) > 0 })
	d.Nodes, d.Impact = nodesOf(r, pools), consequences(r.Impact)
	ofPools := map[*review.Object]bool{}
	for _, pool := range pools {
		ofPools[pool.RuntimeClass] = true
	}
	for i := range r.RuntimeClasses {
		if class := &r.RuntimeClasses[i]; !ofPools[class] {
			d.RuntimeClasses = append(d.RuntimeClasses, class)
		}
	}
	d.Conflicts, d.Contests, d.Problems = fold(r.Conflicts), fold(r.Contests), fold(r.Problems)
}

// fewObjects is the number of manifests up to which they are unfolded.
const fewObjects = 6

// checksum returns the hash by which a security policy allows a style.
func checksum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}
