package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/review"
)

// writeExplanation writes for people: what there is to say in one line; then the
// pools, each with its keys; the conflicts; what is shared; and what is somebody
// else's.
func writeExplanation(text io.Writer, e *explanation) {
	wrap(text, "", e.headline())
	e.remarks(text)
	for _, pool := range e.Pools {
		fmt.Fprintln(text)
		wrap(text, "", pool.title())
		for _, line := range pool.origin() {
			wrap(text, "  ", line)
		}
		if e.Problem == "" {
			keyList(text, e.of(func(k explainedKey) bool { return k.Owner == plan.OfPool && k.Pool == pool.Name }), poolNotes)
		}
	}
	e.conflicts(text)
	e.contests(text)
	for _, section := range []struct {
		title string
		owner plan.Owner
		notes func(explainedKey) []string
	}{
		{"Shared: a pool wants what somebody else has set. It stays when the pool goes", plan.Shared, sharedNotes},
		{"Whose these are nobody can tell without the record", plan.OfUnknown, setterNotes},
		{"Somebody else's", plan.OfOthers, setterNotes},
		{"Kubernetes' own", plan.OfKubernetes, setterNotes},
	} {
		keys := e.of(func(k explainedKey) bool { return k.Owner == section.owner && k.Value != nil && k.Conflicts == nil })
		if len(keys) > 0 {
			fmt.Fprintln(text, "\n"+section.title)
			keyList(text, keys, section.notes)
		}
	}
	e.record(text)
}

func (e *explanation) of(belongs func(explainedKey) bool) []explainedKey {
	var keys []explainedKey
	for _, k := range e.Keys {
		if belongs(k) {
			keys = append(keys, k)
		}
	}
	return keys
}

func (e *explanation) headline() string {
	var in []string
	for _, pool := range e.Pools {
		if pool.Member {
			in = append(in, review.Word(pool.Name))
		}
	}
	where := "no pool"
	if len(in) == 1 {
		where = "pool " + in[0]
	} else if len(in) > 1 {
		where = "pools " + strings.Join(in[:len(in)-1], ", ") + " and " + in[len(in)-1]
	}
	headline := "Node " + review.Word(e.Node) + " is in " + where
	if e.Problem != "" {
		return headline + ", as far as can be told"
	}
	if slices.ContainsFunc(e.Pools, func(pool explainedPool) bool { return pool.State == poolError }) {
		headline += ", as far as can be told"
	}
	var parts []string
	for _, held := range []struct{ state, words string }{{poolError, "in error"}, {poolPaused, "paused"}} {
		n := 0
		for _, pool := range e.Pools {
			if pool.State == held.state {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, review.Count(n, "pool")+" "+held.words)
		}
	}
	due := len(e.of(func(k explainedKey) bool { return k.Due != "" }))
	denied := len(e.of(func(k explainedKey) bool { return k.Conflicts != nil }))
	switch {
	case due > 0 && e.Paused:
		parts = append(parts, review.Count(due, "change")+" held back")
	case due > 0:
		parts = append(parts, review.Count(due, "change")+" due")
	}
	if denied > 0 {
		parts = append(parts, review.Count(denied, "conflict"))
	}
	if fought := len(e.of(func(k explainedKey) bool { return k.Contests != nil })); fought > 0 {
		parts = append(parts, review.Count(fought, "contested key"))
	}
	if len(parts) == 0 {
		return headline
	}
	return headline + "; " + strings.Join(parts, ", ")
}

// remarks are what one has to know before all else.
func (e *explanation) remarks(text io.Writer) {
	due := slices.ContainsFunc(e.Keys, func(k explainedKey) bool { return k.Due != "" })
	switch {
	case e.Problem != "":
		wrap(text, "", "Its record, the annotation "+v1.AppliedAnnotation+", cannot be read, so nothing is written to it: "+inert(e.Problem))
	case e.Paused:
		wrap(text, "", "Its annotation "+v1.ReconcileAnnotation+" pauses it: nothing is written.")
		if due {
			wrap(text, "", "Marked + - ~ is what would be put there, taken away, changed otherwise.")
		}
	case due:
		wrap(text, "", "Marked + - ~ is what 'nodepools run' puts there, takes away, changes next.")
	}
}

func (p explainedPool) title() string {
	title := "Pool " + review.Word(p.Name)
	if p.Parent != "" {
		title += ", within pool " + review.Word(p.Parent)
	}
	switch {
	case p.State == poolGone:
		return title + ", which does not exist any more"
	case p.State == poolDeleting:
		return title + ", which is being deleted"
	case p.State == poolPaused && p.Deleting:
		return title + ", paused: it is to be deleted, and stays as it is until it is resumed"
	case p.State == poolPaused:
		return title + ", paused: what it put here stays as it is"
	case p.State == poolError:
		return title + ", in error: what it put here stays as it is"
	case !p.Member:
		return title + ", in which the node is no more"
	}
	return title
}

// origin says where a pool comes from, line by line, and how it chooses its nodes.
func (p explainedPool) origin() []string {
	if p.State == poolGone {
		return []string{"what is left of it is let go of"}
	}
	lines := []string{"made by hand"}
	if p.Source != "" || p.Revision != "" {
		lines = []string{"from " + review.Word(p.File)}
		if p.Source != "" {
			lines[0] += " of source " + review.Word(p.Source)
		}
		if p.Revision != "" {
			lines = append(lines, "at "+review.Word(p.Revision))
		}
	}
	lines = append(lines, "members by "+inert(clip(p.ChosenBy)))
	if p.Problem != "" {
		lines = append(lines, "error: "+inert(p.Problem))
	}
	return lines
}

// keyList writes a line per key: its sign, its field, its value, and notes.
func keyList(text io.Writer, keys []explainedKey, notes func(explainedKey) []string) {
	width := 0
	for _, k := range keys {
		width = max(width, len(k.Field))
	}
	for _, k := range keys {
		first := fmt.Sprintf("  %s %-*s  ", k.sign(), width, k.Field)
		words := k.pair(textWidth - len(first))
		if said := notes(k); len(said) > 0 {
			said[0] = " (" + said[0]
			said[len(said)-1] += ")"
			words = append(words, said...)
		}
		hangWords(text, first, strings.Repeat(" ", len(first)+2), words)
	}
}

// sign marks what is about to happen to the key.
func (k explainedKey) sign() string {
	switch {
	case k.Due == "" || k.Due == dueForget:
		return " "
	case k.Value == nil:
		return "+"
	case k.After == nil:
		return "-"
	default:
		return "~"
	}
}

// pair is the key with its value, and with the one that it is about to get.
func (k explainedKey) pair(most int) []string {
	have := k.Value
	if have == nil {
		have = k.After
	}
	if have == nil {
		return []string{review.Word(k.Key)}
	}
	words := []string{pair(k.Field, k.Key, *have, most)}
	if k.Value != nil && k.After != nil && *k.Value != *k.After {
		words = append(words, "->", shown(k.Field, *k.After, shortValue))
	}
	return words
}

const (
	// shortValue is how many characters a value has in a note.
	shortValue = 40
	// leastValue is how many it has beside the longest of keys.
	leastValue = 14
)

// pair is a key with its value as kubectl takes it, cut to a number of
// characters; the key is always whole.
func pair(field plan.Field, key, text string, most int) string {
	if name, effect, isTaint := cutLast(key, ":"); field == plan.Taint && isTaint {
		if text == "" {
			return review.Word(key)
		}
		return review.Word(name) + "=" + shown(field, text, shortValue) + ":" + review.Word(effect)
	}
	return review.Word(key) + "=" + shown(field, text, max(most-len(key)-1, leastValue))
}

// conflicts writes each in the words in which the pool's status has it.
func (e *explanation) conflicts(text io.Writer) {
	title := "\nConflicts: left as they are"
	for _, k := range e.Keys {
		for _, conflict := range k.status.Conflicts {
			if title != "" {
				fmt.Fprintln(text, title)
				title = ""
			}
			wrap(text, "  ", inert(conflict.String()))
		}
		if k.MoreConflicts > 0 {
			wrap(text, "  ", inert(fmt.Sprintf("%s %s: %s", k.Field, k.Key, review.Count(k.MoreConflicts, "more pool")+" in conflict over it")))
		}
	}
}

// contests writes which keys somebody else keeps changing.
func (e *explanation) contests(text io.Writer) {
	title := "\nContested: somebody else keeps changing these, and they are put back"
	for _, k := range e.Keys {
		for _, contest := range k.Contests {
			if title != "" {
				fmt.Fprintln(text, title)
				title = ""
			}
			message := contest.Message
			if !contest.Named {
				message += "; this node may be one of those that are not named"
			}
			wrap(text, "  ", inert(message))
		}
	}
}

// record writes what the pools have put on the node, as the record has it.
func (e *explanation) record(text io.Writer) {
	if e.Record == nil {
		return
	}
	fmt.Fprintln(text, "\nThe record of what pools have put here, annotation "+v1.AppliedAnnotation)
	pools, fields := 0, 0
	for _, k := range e.Keys {
		if entry := k.status.Recorded; entry != nil {
			pools, fields = max(pools, min(utf8.RuneCountInString(review.Word(entry.Pool)), longestPool)), max(fields, len(k.Field))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Record.Pools())) {
		for _, k := range e.Keys {
			entry := k.status.Recorded
			if entry == nil || entry.Pool != name {
				continue
			}
			first := fmt.Sprintf("  %-*s  %-*s  ", pools, review.Word(name), fields, k.Field)
			words := []string{pair(k.Field, k.Key, entry.Value, textWidth-len(first))}
			switch {
			case entry.Before != nil && entry.Adopted:
				words = append(words, " (adopted;", "before:", shown(k.Field, *entry.Before, shortValue)+")")
			case entry.Before != nil:
				words = append(words, " (before:", shown(k.Field, *entry.Before, shortValue)+")")
			}
			hangWords(text, first, strings.Repeat(" ", utf8.RuneCountInString(first)+2), words)
		}
	}
}
