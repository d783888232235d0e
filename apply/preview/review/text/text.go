package text

import (
	"bytes"
	"fmt"
	"io"
	"slices"
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
	t.brokenBase(r.Compared, o.Summary)
	if !o.Summary {
		t.guards(r)
		t.impact(r)
		t.rollouts(r.Rollouts)
		t.objects("NodePool", r.Pools)
		t.objects("RuntimeClass", r.RuntimeClasses)
		t.nodes(r.Nodes)
		t.members(r.Members)
		t.conflicts(r.Conflicts)
		t.contests(r)
		t.problems(r.Problems)
	}
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

// brokenBase writes what is compared with in place of the base.
func (t *writer) brokenBase(c review.Compared, summary bool) {
	if c.BrokenBase == nil {
		return
	}
	t.sentence("", "Note: "+c.BrokenText())
	if summary {
		return
	}
	t.heading("Problems of the base:")
	for _, problem := range c.BrokenBase.List() {
		t.sentence("  ", problem)
	}
}

func (t *writer) guards(r *review.Review) {
	if held := r.HeldBack; held != nil {
		t.heading(fmt.Sprintf("Held back: this would delete %d of %s, and deletes none of them",
			len(held.Pools), review.Count(held.Of, "pool")))
		t.list("  ", words(held.Pools))
		t.sentence("  ", held.Reason+"; "+held.Remedy)
	}
	for _, held := range r.HeldReleases {
		if held.Pool == "" {
			t.heading("Held back until it is approved: nothing of this revision is applied before")
		} else {
			t.heading(fmt.Sprintf("Held back until it is approved: pool %s", review.Word(held.Pool)))
		}
		t.sentence("  ", held.Reason)
		t.sentence("  ", held.Remedy)
	}
	if len(r.Kept) > 0 {
		t.heading("Not in the files, and kept, as they are paused or marked so:")
		t.list("  ", words(r.Kept))
	}
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
		t.line("")
		t.list("", append([]string{review.Count(len(group.Names), "node") + " changed:"}, words(review.Compact(group.Names))...))
		for _, line := range group.Lines() {
			t.line(t.signed(line.Sign, clipped("  "+string(line.Sign)+" "+line.Text)))
		}
	}
}

func (t *writer) members(pools []review.Members) {
	pools = slices.DeleteFunc(slices.Clone(pools), func(pool review.Members) bool { return len(pool.Entering)+len(pool.Leaving) == 0 })
	if len(pools) == 0 {
		return
	}
	t.heading("Nodes that enter and leave pools:")
	for _, pool := range pools {
		t.sentence("  ", fmt.Sprintf("%s: %d -> %s", review.Word(pool.Pool), pool.Before, review.Count(pool.After, "node")))
		if len(pool.Entering) > 0 {
			t.colored(review.Added, wrapped("    + ", "      ", words(review.Compact(pool.Entering))))
		}
		if len(pool.Leaving) > 0 {
			t.colored(review.Removed, wrapped("    - ", "      ", words(review.Compact(pool.Leaving))))
		}
	}
}

// conflicts groups those of the same nodes.
func (t *writer) conflicts(conflicts []review.Conflict) {
	for i, conflict := range conflicts {
		if i == 0 || conflict.Standing != conflicts[i-1].Standing || !slices.Equal(conflict.Nodes, conflicts[i-1].Nodes) {
			t.line("")
			when := ""
			if conflict.Standing {
				when = "as before "
			}
			t.list("", append([]string{"Conflicts, left as they are, " + when + "on " + review.Count(len(conflict.Nodes), "node") + ":"}, words(review.Compact(conflict.Nodes))...))
		}
		t.sentence("  ", conflict.Text())
	}
}

func (t *writer) contests(r *review.Review) {
	if len(r.Contests) == 0 {
		return
	}
	t.heading("Contested now, and put back each time:")
	for _, contest := range r.Contests {
		t.sentence("  ", contest.Text())
	}
	if more := r.MoreContestsText(); more != "" {
		t.sentence("  ", more)
	}
}

func (t *writer) problems(problems []string) {
	if len(problems) == 0 {
		return
	}
	t.heading("Problems, left alone:")
	for _, problem := range problems {
		t.sentence("  ", problem)
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
