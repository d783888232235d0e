package text

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// Options say how a review is written.
type Options struct {
	// Color marks additions, removals and problems by ANSI colours.
	Color bool
	// Summary omits everything but the summary.
	Summary bool
}

// Write writes a review.
func Write(w io.Writer, r *review.Review, o Options) error {
	t := &writer{painter: painter(o.Color)}
	t.review(r, o)
	_, err := io.WriteString(w, sanitize.BreakCommands(t.String()))
	return err
}

func (t *writer) review(r *review.Review, o Options) {
	t.summary(r.Summary)
	t.known(r.Compared)
	if o.Summary {
		if r.Compared.BrokenBase != nil {
			t.sentence("", "Note: "+r.Compared.BrokenText())
		}
		return
	}
	t.sections(review.Guards(r))
	t.sections(review.Consequences(r.Impact))
	t.sections(review.Schedule(r))
	t.objects("NodePool", r.Pools)
	t.objects("RuntimeClass", r.RuntimeClasses)
	t.nodes(r.Nodes)
	t.sections(review.Moves(r))
	t.sections(review.Remarks(r))
}

// writer buffers the text, so that no half of it is written when an error occurs.
type writer struct {
	bytes.Buffer
	painter
}

func (t *writer) line(text string) { fmt.Fprintln(t, text) }

// heading begins a part.
func (t *writer) heading(text string) {
	t.line("")
	for line := range strings.Lines(wrapped("", "  ", strings.Fields(text))) {
		t.line(t.bold(strings.TrimSuffix(line, "\n")))
	}
}

// sentence writes a text that may take several lines.
func (t *writer) sentence(indent, text string) {
	fmt.Fprint(t, wrapped(indent, indent+"  ", strings.Fields(review.Visible(text))))
}

func (t *writer) summary(s review.Summary) {
	for line := range strings.Lines(wrapped("", "  ", strings.SplitAfter(review.Visible(s.Changes), ", "))) {
		t.line(t.bold(strings.TrimSuffix(line, "\n")))
	}
	if s.Impact != "" {
		for line := range strings.Lines(wrapped("", "  ", strings.SplitAfter(review.Visible(s.Impact), "; "))) {
			t.line(t.alarm(strings.TrimSuffix(line, "\n")))
		}
	}
}

// known writes the age of an inventory, and which parts of a cluster are known.
func (t *writer) known(c review.Compared) {
	if c.Taken == "" || c.Nodes == nil {
		return
	}
	pods := "pods are not known"
	if c.Pods != nil {
		pods = review.Count(*c.Pods, "pod")
	}
	t.sentence("", fmt.Sprintf("As of %s, %s, %s", review.Word(c.Taken), review.Count(*c.Nodes, "node"), pods))
}

// maxPods is how many pods of one item are named.
const maxPods = 8

func (t *writer) sections(all []review.Section) {
	for _, section := range all {
		t.heading(review.Visible(section.Title) + ":")
		if section.Intro != "" {
			t.sentence("  ", section.Intro)
		}
		for _, item := range section.Items {
			t.item(item)
		}
	}
}

func (t *writer) item(item review.Item) {
	text, indent := item.Text, "    "
	if item.Head != "" && text != "" {
		text = item.Head + ": " + text
	} else {
		text += item.Head
	}
	if item.Warning != "" {
		text += "; " + item.Warning
	}
	if text == "" {
		indent = "  "
	} else {
		t.sentence("  ", text)
	}
	if item.Command != "" {
		t.sentence(indent, item.Command)
	}
	t.list(indent, words(review.Compact(item.Names)))
	var pods []string
	for i, pod := range item.Pods[:min(len(item.Pods), maxPods)] {
		name := review.Word(pod.Name)
		if pod.Node != "" {
			name += " on " + review.Word(pod.Node)
		}
		if i < len(item.Pods)-1 {
			name += ","
		}
		pods = append(pods, name)
	}
	if more := len(item.Pods) - maxPods; more > 0 {
		pods[maxPods-1] = strings.TrimSuffix(pods[maxPods-1], ",")
		pods = append(pods, fmt.Sprintf("and %d more; -o json has all", more))
	}
	t.list(indent, pods)
}

func (t *writer) objects(kind string, objects []review.Object) {
	for _, object := range objects {
		title := fmt.Sprintf("%s %s %s", kind, review.Word(object.Name), review.Happened(object.Action))
		if place := object.Place(); place != "" {
			title += " in " + review.Word(place)
		}
		t.heading(title)
		if object.Action == plan.Replace {
			t.sentence("  ", "Its handler is immutable, so it is deleted and created again. Pods that run are not affected; pods that are created in the gap are refused.")
		}
		for _, line := range object.Lines() {
			t.line(t.signed(line.Sign, clipped(strings.TrimRight("  "+sign(line.Sign)+line.Text, " "))))
		}
	}
}

// sign returns the column before a line of YAML.
func sign(of rune) string {
	if of == review.Omitted {
		return "  ..."
	}
	return string(of)
}

func (t *writer) nodes(groups []review.Nodes) {
	for _, group := range groups {
		if len(group.Changes) == 0 {
			continue
		}
		t.line("")
		t.list("", append([]string{review.Count(len(group.Names), "node") + " changed:"}, words(review.Compact(group.Names))...))
		for _, line := range group.Lines() {
			t.line(t.signed(line.Sign, clipped("  "+string(line.Sign)+" "+line.Text)))
		}
	}
}

// words sanitizes the words of a list.
func words(items []string) []string {
	words := make([]string, len(items))
	for i, item := range items {
		words[i] = item
		if !compactNames.MatchString(item) {
			words[i] = review.Word(item)
		}
		if i < len(items)-1 {
			words[i] += ","
		}
	}
	return words
}
