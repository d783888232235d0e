package explain

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nodepools/nodepools/api/sanitize"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/api/wrap"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// longestChoice is how much is shown of how a pool chooses its members, in bytes.
const longestChoice = 200

// WriteText writes the explanation for people: a headline; then the pools, each with
// its keys; the conflicts; what is shared; and what is somebody else's.
func (e *Explanation) WriteText(w io.Writer) error {
	var text bytes.Buffer
	e.write(&text)
	_, err := io.WriteString(w, sanitize.Text(text.String()))
	return err
}

func (e *Explanation) write(text io.Writer) {
	wrap.Text(text, "", e.headline())
	e.remarks(text)
	for _, pool := range e.Pools {
		fmt.Fprintln(text)
		wrap.Text(text, "", pool.title())
		for _, line := range pool.origin() {
			wrap.Text(text, "  ", line)
		}
		if e.Problem == "" {
			keyList(text, e.keys(func(k Key) bool { return k.Owner == plan.OfPool && k.Pool == pool.Name }), poolNotes)
		}
	}
	e.conflicts(text)
	e.contests(text)
	for _, section := range []struct {
		title string
		owner plan.Owner
		notes func(Key) []string
	}{
		{"Shared: a pool wants what somebody else has set. It stays when the pool goes", plan.Shared, sharedNotes},
		{"Whose these are nobody can tell without the record", plan.OfUnknown, setterNotes},
		{"Somebody else's", plan.OfOthers, setterNotes},
		{"Kubernetes' own", plan.OfKubernetes, setterNotes},
	} {
		keys := e.keys(func(k Key) bool { return k.Owner == section.owner && k.Value != nil && k.Conflicts == nil })
		if len(keys) > 0 {
			fmt.Fprintln(text, "\n"+section.title)
			keyList(text, keys, section.notes)
		}
	}
	e.record(text)
}

// keys returns those that match.
func (e *Explanation) keys(matches func(Key) bool) []Key {
	var matching []Key
	for _, k := range e.Keys {
		if matches(k) {
			matching = append(matching, k)
		}
	}
	return matching
}

// headline says in one line which pools the node is in, and what is to be said of them.
func (e *Explanation) headline() string {
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
		return headline + ", as far as is known"
	}
	if slices.ContainsFunc(e.Pools, func(pool Pool) bool { return pool.Holds }) {
		headline += ", as far as is known"
	}
	var parts []string
	for _, idle := range []struct {
		state State
		words string
	}{{Failed, "in error"}, {Paused, "paused"}} {
		n := 0
		for _, pool := range e.Pools {
			if pool.State == idle.state {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, review.Count(n, "pool")+" "+idle.words)
		}
	}
	due := len(e.keys(func(k Key) bool { return k.Due != "" }))
	denied := len(e.keys(func(k Key) bool { return k.Conflicts != nil }))
	switch {
	case due > 0 && e.Paused:
		parts = append(parts, review.Count(due, "change")+" held back")
	case due > 0:
		parts = append(parts, review.Count(due, "change")+" due")
	}
	if waiting := len(e.keys(func(k Key) bool { return k.Waits })); waiting > 0 {
		parts = append(parts, review.Count(waiting, "change")+" waiting")
	}
	if denied > 0 {
		parts = append(parts, review.Count(denied, "conflict"))
	}
	if fought := len(e.keys(func(k Key) bool { return k.Contests != nil })); fought > 0 {
		parts = append(parts, review.Count(fought, "contested key"))
	}
	if len(parts) == 0 {
		return headline
	}
	return headline + "; " + strings.Join(parts, ", ")
}

// remarks are what one has to know before all else.
func (e *Explanation) remarks(text io.Writer) {
	due := slices.ContainsFunc(e.Keys, func(k Key) bool { return k.Due != "" })
	switch {
	case e.Problem != "":
		wrap.Text(text, "", "Its record, the annotation "+v1.AppliedAnnotation+", cannot be read, so nothing is written to it: "+sanitize.Line(e.Problem))
	case e.Paused:
		wrap.Text(text, "", "Its annotation "+v1.ReconcileAnnotation+" pauses it: nothing is written.")
		if due {
			wrap.Text(text, "", "Marked + - ~ is what would be put there, taken away, changed otherwise.")
		}
	case due:
		wrap.Text(text, "", "Marked + - ~ is what 'nodepools run' puts there, takes away, changes next.")
	}
}

// title names a pool and its state.
func (p Pool) title() string {
	title := "Pool " + review.Word(p.Name)
	if p.Parent != "" {
		title += ", within pool " + review.Word(p.Parent)
	}
	switch {
	case p.State == Gone:
		return title + ", which does not exist any more"
	case p.State == Deleting:
		return title + ", which is being deleted"
	case p.State == Paused && p.Deleting:
		return title + ", paused: it is to be deleted, and stays as it is until it is resumed"
	case p.State == Paused:
		return title + ", paused: the node follows what was accepted before"
	case p.State == Failed && p.Holds:
		return title + ", in error: what it put here stays as it is"
	case p.State == Failed:
		return title + ", in error: the node follows what was accepted before"
	case !p.Member:
		return title + ", in which the node is no more"
	}
	return title
}

// origin says where a pool comes from, line by line, and how it chooses its nodes.
func (p Pool) origin() []string {
	if p.State == Gone {
		return append([]string{"what is left of it stays until another pool wants the key"}, p.waiting()...)
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
	lines = append(lines, "members by "+sanitize.Line(sanitize.Clip(strings.Join(strings.Fields(p.ChosenBy), " "), longestChoice)))
	if p.Problem != "" {
		lines = append(lines, "error: "+sanitize.Line(p.Problem))
	}
	return append(lines, p.waiting()...)
}

// waiting says what the node has followed of the pool, until when it does not follow it any
// further, and that it counts as unavailable in its rollout.
func (p Pool) waiting() []string {
	var lines []string
	if f := p.Followed; f != nil {
		last := "last followed at " + f.At.UTC().Format(time.RFC3339)
		if f.Commit != "" {
			last += ", commit " + f.Commit
		}
		lines = append(lines, last)
	}
	if p.Wait != nil {
		lines = append(lines, "its changes wait: "+sanitize.Line(p.Wait.Message))
	}
	if p.Unavailable != "" {
		lines = append(lines, "the node counts as unavailable in its rollout: it "+sanitize.Line(p.Unavailable))
	}
	return lines
}

// keyList writes a line per key: its sign, its field, its value, and notes.
func keyList(text io.Writer, keys []Key, notes func(Key) []string) {
	width := 0
	for _, k := range keys {
		width = max(width, len(k.Field))
	}
	for _, k := range keys {
		first := fmt.Sprintf("  %s %-*s  ", k.sign(), width, k.Field)
		words := k.pair(wrap.Width - len(first))
		if said := notes(k); len(said) > 0 {
			said[0] = " (" + said[0]
			said[len(said)-1] += ")"
			words = append(words, said...)
		}
		wrap.Hang(text, first, strings.Repeat(" ", len(first)+2), words)
	}
}

// sign marks what is about to happen to the key.
func (k Key) sign() string {
	switch {
	case k.Due == "" || k.Due == Forget:
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
func (k Key) pair(most int) []string {
	have := k.Value
	if have == nil {
		have = k.After
	}
	if have == nil {
		have = k.Later
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
func (e *Explanation) conflicts(text io.Writer) {
	title := "\nConflicts: left as they are"
	for _, k := range e.Keys {
		for _, conflict := range k.status.Conflicts {
			if title != "" {
				fmt.Fprintln(text, title)
				title = ""
			}
			wrap.Text(text, "  ", sanitize.Line(conflict.String()))
		}
		if k.MoreConflicts > 0 {
			wrap.Text(text, "  ", sanitize.Line(fmt.Sprintf("%s %s: %s", k.Field, k.Key, review.Count(k.MoreConflicts, "more pool")+" in conflict over it")))
		}
	}
}

// contests writes which keys somebody else keeps changing.
func (e *Explanation) contests(text io.Writer) {
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
			wrap.Text(text, "  ", sanitize.Line(message))
		}
	}
}

// record writes what the pools have put on the node, as the record has it.
func (e *Explanation) record(text io.Writer) {
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
			words := []string{pair(k.Field, k.Key, entry.Value, wrap.Width-len(first))}
			switch {
			case entry.Before != nil && entry.Adopted:
				words = append(words, " (adopted;", "before:", shown(k.Field, *entry.Before, shortValue)+")")
			case entry.Before != nil:
				words = append(words, " (before:", shown(k.Field, *entry.Before, shortValue)+")")
			}
			wrap.Hang(text, first, strings.Repeat(" ", utf8.RuneCountInString(first)+2), words)
		}
	}
}
