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
		r.HeldBack == nil && len(r.HeldReleases) == 0 && len(impacts(r.Impact)) == 0
}

// summary returns the part that is never cut.
func summary(r *review.Review) []string {
	head := []string{"### " + capital(sentence(r.Summary.Changes))}
	switch {
	case r.Summary.Impact != "":
		head = append(head, bold(capital(sentence(r.Summary.Impact))))
	case r.Impact != nil && len(impacts(r.Impact)) == 0:
		head = append(head, "No pod is affected.")
	}
	if r.HeldBack != nil {
		head = append(head, heldBack(r.HeldBack))
	}
	for i, held := range r.HeldReleases {
		if i == maxHeldReleases {
			head = append(head, fmt.Sprintf("%s more are held back.", count(len(r.HeldReleases)-i, "change", "changes")))
			break
		}
		head = append(head, heldRelease(held))
	}
	if r.Compared.BrokenBase != nil {
		head = append(head, brokenBase(r.Compared.BrokenBase))
	}
	return append(head, "Compares "+between(r.Compared, "with")+". "+known(r.Compared))
}

// brokenBase returns why the requested base is not the one that is compared.
func brokenBase(b *review.BrokenBase) string {
	return "**The base " + code(b.Revision) + " is broken, and no source takes it.** This compares with another one instead."
}

func heldBack(h *review.HeldBack) string {
	text := fmt.Sprintf("**This revision would be held back:** it deletes %s of %s", thousands(len(h.Pools)), count(h.Of, "pool", "pools"))
	if h.Reason != "" {
		text += "; " + sentence(h.Reason)
	}
	text += ". All of these would stay: " + names(h.Pools, maxName) + "."
	if h.Remedy != "" {
		text += " " + capital(stop(sentence(h.Remedy)))
	}
	return text
}

// maxHeldReleases is how many held-back changes the summary names.
const maxHeldReleases = 5

func heldRelease(h review.HeldRelease) string {
	text := "**Pool " + code(h.Pool) + " would be held back until it is approved.** "
	if h.Pool == "" {
		text = "**This revision would be held back, and nothing of it applied until it is approved.** "
	}
	return text + capital(stop(sentence(h.Reason))) + " " + capital(stop(sentence(h.Remedy)))
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
	kept := section{title: "Pools that stay", intro: "They vanish from Git, and are kept because they are paused or because they say so.", one: "pool", more: "pools"}
	for _, pool := range r.Kept {
		kept.rows = append(kept.rows, code(pool))
	}
	conflicts := section{title: "Conflicts", intro: "Keys that pools want, and do not get.", one: "conflict", more: "conflicts"}
	for _, conflict := range r.Conflicts {
		conflicts.rows = append(conflicts.rows, on(conflict.Nodes)+": "+sentence(conflict.Text()))
	}
	contests := section{title: "Contested now", intro: "Keys that somebody else keeps changing, and that are put back each time.", one: "contested key", more: "contested keys"}
	for _, contest := range r.Contests {
		contests.rows = append(contests.rows, sentence(contest.Text()))
	}
	if more := r.MoreContestsText(); more != "" {
		contests.rows = append(contests.rows, sentence(more))
	}
	problems := section{title: "Problems", intro: "What they are about is left alone.", one: "problem", more: "problems"}
	for _, problem := range r.Problems {
		problems.rows = append(problems.rows, sentence(problem))
	}
	broken := section{title: "Problems of the base", one: "problem", more: "problems"}
	if base := r.Compared.BrokenBase; base != nil {
		for _, problem := range base.List() {
			broken.rows = append(broken.rows, sentence(problem))
		}
	}
	notes := section{title: "Notes", one: "note", more: "notes"}
	for _, note := range r.Notes {
		notes.rows = append(notes.rows, sentence(note))
	}
	var lists []section
	for _, list := range []section{rollouts(r.Rollouts), kept, conflicts, contests, problems, broken, notes} {
		if len(list.rows) > 0 {
			lists = append(lists, list)
		}
	}
	return lists
}

// on names nodes, with their number where it is not obvious.
func on(nodes []string) string {
	if len(nodes) == 1 {
		return code(nodes[0])
	}
	return count(len(nodes), "node", "nodes") + " (" + names(nodes, maxName) + ")"
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
