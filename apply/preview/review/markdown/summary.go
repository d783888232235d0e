package markdown

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/apply/preview/review"
)

// nothing reports whether a review is empty except for notes.
func nothing(r *review.Review) bool {
	return len(r.Pools)+len(r.RuntimeClasses)+len(r.Nodes)+len(r.Members)+len(r.Kept)+len(r.Conflicts)+len(r.Problems) == 0 &&
		r.HeldBack == nil && len(r.HeldReleases) == 0 && len(review.Consequences(r.Impact)) == 0
}

// summary returns the part that is never cut.
func summary(r *review.Review) []string {
	head := []string{"### " + capital(sentence(r.Summary.Changes))}
	switch {
	case r.Summary.Impact != "":
		head = append(head, bold(capital(sentence(r.Summary.Impact))))
	case r.Impact != nil && len(review.Consequences(r.Impact)) == 0:
		head = append(head, "No pod is affected.")
	}
	return append(append(head, guards(r)...), "Compares "+between(r.Compared, "with")+". "+known(r.Compared))
}

// maxGuarded is how many items of a guard the summary has.
const maxGuarded = 4

// guards are a paragraph for the title of each, and its items.
func guards(r *review.Review) []string {
	var paragraphs []string
	for _, guard := range sections(review.Guards(r)) {
		rows := guard.rows[:min(len(guard.rows), maxGuarded)]
		if more := len(guard.rows) - len(rows); more > 0 {
			rows = append(rows[:len(rows):len(rows)], fmt.Sprintf("%d more", more))
		}
		paragraphs = append(paragraphs, "**"+guard.title+"**", "- "+strings.Join(rows, "\n- "))
	}
	return paragraphs
}

// between returns what was compared with what.
func between(c review.Compared, and string) string {
	text := code(c.Base) + " " + and + " " + code(c.Head)
	if c.Source != "" {
		text += ", for the source " + code(c.Source)
	}
	return text
}

// known returns which nodes and pods the review covers.
func known(c review.Compared) string {
	text := "Nodes and pods are not known"
	switch {
	case c.Nodes != nil && c.Pods != nil:
		text = count(*c.Nodes, "node", "nodes") + " and " + count(*c.Pods, "pod", "pods") + " are known"
	case c.Nodes != nil:
		text = count(*c.Nodes, "node is known", "nodes are known") + ", and no pods"
	}
	if c.Taken != "" {
		text += ", as of " + code(c.Taken)
	}
	return text + "."
}

// lists returns the lists after the pools.
func lists(r *review.Review) []section {
	all := sections(append(review.Schedule(r), review.Remarks(r)...))
	notes := section{title: "Notes", one: "note", more: "notes"}
	for _, note := range r.Notes {
		notes.rows = append(notes.rows, sentence(note))
	}
	if len(notes.rows) > 0 {
		all = append(all, notes)
	}
	return all
}

// names writes names on a line, compactly where all fit, and else as many as
// fit, with the number of further ones.
func names(names []string, room int) string {
	if compact := review.Compact(names); len(strings.Join(compact, ", ")) <= room {
		return codes(compact, len(compact))
	}
	sorted := slices.Sorted(slices.Values(names))
	fit, length := 0, 0
	for _, name := range sorted {
		if length += len(name); fit > 0 && length > room {
			break
		}
		fit++
	}
	return codes(sorted, fit)
}

// codes writes the first ones of some names, and how many more there are.
func codes(names []string, most int) string {
	var written []string
	for _, name := range names[:min(most, len(names))] {
		written = append(written, code(name))
	}
	if more := len(names) - most; more > 0 {
		written = append(written, "… ("+thousands(more)+" more)")
	}
	return strings.Join(written, ", ")
}

// bold writes a text in bold letters. An empty one would be a rule.
func bold(text string) string {
	if text == "" {
		return ""
	}
	return "**" + text + "**"
}

// stop ends a sentence with a full stop, unless it has one.
func stop(sentence string) string {
	if sentence == "" || strings.HasSuffix(sentence, ".") {
		return sentence
	}
	return sentence + "."
}
