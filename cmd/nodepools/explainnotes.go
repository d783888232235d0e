package main

import (
	"slices"
	"strings"

	"github.com/nodepools/nodepools/apply/plan"
)

// The notes on a key, as words: a value is one, whatever it holds.

// poolNotes say of a pool's key how it became that, and why it changes.
func poolNotes(k explainedKey) []string {
	var notes [][]string
	note := func(words ...[]string) { notes = append(notes, slices.Concat(words...)) }
	if k.Conflicts != nil {
		note(text("in conflict, see below"))
	}
	switch k.Due {
	case dueTake:
		if k.status.Planned.Adopted {
			note(text("set by"), k.setters("somebody else"), text("and about to be adopted"))
		} else {
			note(text("set by"), k.setters("somebody else"), text("and about to be taken over; it comes back when the pool lets go"))
		}
		return joined(notes)
	case duePutBack:
		if k.Value == nil {
			note(text("taken away by somebody; put back"))
		} else {
			note(text("changed by"), k.setters("somebody"))
			note(text("put back"))
		}
	case dueRemove:
		note(text("no longer wanted"))
	case dueGive:
		note(text("no longer wanted: what was there before comes back"))
		return joined(notes)
	case dueForget:
		return joined(append(notes, k.forgotten()))
	case dueRecord, dueChange:
		if was := k.status.Recorded; was != nil && was.Pool != k.Pool {
			note(text("until now of pool"), []string{word(was.Pool)})
		}
	case "":
		if k.Recorded != nil && (k.Value == nil || *k.Value != *k.Recorded) {
			note(text("the pool has put"), []string{shown(k.Field, *k.Recorded, shortValue)}, k.since())
		}
	}
	switch {
	case k.Before == nil:
	case k.Adopted && *k.Before == *k.Recorded:
		note(text("adopted"))
	case k.Adopted:
		note(text("adopted; it was"), []string{shown(k.Field, *k.Before, shortValue)})
	default:
		note([]string{"taken", "over;"}, []string{shown(k.Field, *k.Before, shortValue)}, text("comes back when the pool lets go"))
	}
	if k.Due == "" && k.SetBy != nil && k.Value != nil && *k.Value == *k.Recorded && k.Field != plan.Taint {
		note(text("also set by"), k.setters(""))
	}
	return joined(notes)
}

// since tells what became of a value that the pool has put there.
func (k explainedKey) since() []string {
	if k.Value == nil {
		return text("and somebody has taken it away")
	}
	return slices.Concat(text("and"), k.setters("somebody"), text("changed it"))
}

// forgotten tells why a key stays, or why nothing is left to take away, when its
// pool lets go of it.
func (k explainedKey) forgotten() []string {
	switch {
	case k.Value == nil:
		return text("no longer wanted, and gone already")
	case *k.Value != *k.Recorded:
		return slices.Concat(text("no longer wanted, but"), k.setters("somebody"), text("has changed it: it stays"))
	case k.Before != nil:
		return text("no longer wanted, but it was so before: it stays")
	default:
		return slices.Concat(text("no longer wanted, but also set by"), k.setters("somebody"), []string{"as", "well:", "it", "stays"})
	}
}

func sharedNotes(k explainedKey) []string {
	words := text("wanted by pool")
	if len(k.WantedBy) > 1 {
		words = text("wanted by pools")
	}
	var names []string
	for _, pool := range k.WantedBy {
		names = append(names, word(pool))
	}
	notes := [][]string{append(words, listed(names)...)}
	if set := setterNotes(k); set != nil {
		notes = append(notes, append([]string{"set", "by"}, set...))
	}
	return joined(notes)
}

// setterNotes name who set a value of somebody else's; none where managed fields
// do not tell.
func setterNotes(k explainedKey) []string {
	if k.SetBy == nil {
		return nil
	}
	if k.Field == plan.Taint {
		return append(text("taints last written by"), k.setters("")...)
	}
	return k.setters("")
}

// setters name who set the value; unknown stands for whom managed fields do not
// name. Of a taint, they do not.
func (k explainedKey) setters(unknown string) []string {
	if k.SetBy == nil || k.Field == plan.Taint && unknown != "" {
		return text(unknown)
	}
	var names []string
	for _, manager := range k.SetBy {
		names = append(names, plan.ManagerName(manager))
	}
	if len(names) > maxSetters {
		names = append(names[:maxSetters], "and more")
	}
	return listed(names)
}

// maxSetters is how many field managers a line names.
const maxSetters = 3

func text(sentence string) []string { return strings.Fields(sentence) }

// joined makes one text of several notes.
func joined(notes [][]string) []string {
	var words []string
	for i, note := range notes {
		if i > 0 {
			words[len(words)-1] += ";"
		}
		words = append(words, note...)
	}
	return words
}
