package explain

import (
	"slices"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/api/wrap"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// The notes on a key, as words: a value is one, whatever it holds.

// poolNotes say of a pool's key how it became that, why it changes, and what waits.
func poolNotes(k Key) []string {
	var notes [][]string
	if state := stateNotes(k); len(state) > 0 {
		notes = append(notes, state)
	}
	if k.Waits {
		notes = append(notes, k.waiting())
	}
	return joined(notes)
}

// waiting says what becomes of a key when the node follows.
func (k Key) waiting() []string {
	switch {
	case k.Later == nil:
		return phrase("waits to go")
	case k.Value == nil:
		return phrase("waits to come")
	default:
		return append(phrase("waits to become"), shown(k.Field, *k.Later, shortValue))
	}
}

// stateNotes say of a pool's key how it became that, and why it changes now.
func stateNotes(k Key) []string {
	var notes [][]string
	note := func(words ...[]string) { notes = append(notes, slices.Concat(words...)) }
	if k.Conflicts != nil {
		note(phrase("in conflict, see below"))
	}
	if k.File != "" {
		note(phrase("set in"), []string{review.Word(sanitize.Clip(k.File, longestChoice))})
	}
	switch k.Due {
	case TakeOver:
		if k.status.Planned.Adopted {
			note(phrase("set by"), k.setters("somebody else"), phrase("and about to be adopted"))
		} else {
			note(phrase("set by"), k.setters("somebody else"), phrase("and about to be taken over; it comes back when the pool releases it"))
		}
		return joined(notes)
	case PutBack:
		if k.Value == nil {
			note(phrase("taken away by somebody; put back"))
		} else {
			note(phrase("changed by"), k.setters("somebody"))
			note(phrase("put back"))
		}
	case Remove:
		note(phrase("no longer wanted"))
	case GiveBack:
		note(phrase("no longer wanted: what was there before comes back"))
		return joined(notes)
	case Forget:
		return joined(append(notes, k.forgotten()))
	case Rerecord, Change:
		if was := k.status.Recorded; was != nil && was.Pool != k.Pool {
			note(phrase("until now of pool"), []string{review.Word(was.Pool)})
		}
	case "":
		if k.Recorded != nil && (k.Value == nil || *k.Value != *k.Recorded) {
			note(phrase("the pool has put"), []string{shown(k.Field, *k.Recorded, shortValue)}, k.since())
		}
	}
	if k.Waits && k.Recorded == nil && k.Due == "" {
		if k.Value != nil {
			note(phrase("set by"), k.setters("somebody else"))
		}
		return joined(notes)
	}
	switch {
	case k.Before == nil:
	case k.Adopted && *k.Before == *k.Recorded:
		note(phrase("adopted"))
	case k.Adopted:
		note(phrase("adopted; it was"), []string{shown(k.Field, *k.Before, shortValue)})
	default:
		note([]string{"taken", "over;"}, []string{shown(k.Field, *k.Before, shortValue)}, phrase("comes back when the pool releases it"))
	}
	if k.Due == "" && k.SetBy != nil && k.Value != nil && *k.Value == *k.Recorded && k.Field != plan.Taint {
		note(phrase("also set by"), k.setters(""))
	}
	return joined(notes)
}

// since says what became of a value that the pool has put there.
func (k Key) since() []string {
	if k.Value == nil {
		return phrase("and somebody has taken it away")
	}
	return slices.Concat(phrase("and"), k.setters("somebody"), phrase("changed it"))
}

// forgotten says why a key stays, or why nothing is left to take away, when its
// pool releases it.
func (k Key) forgotten() []string {
	switch {
	case k.Value == nil:
		return phrase("no longer wanted, and gone already")
	case *k.Value != *k.Recorded:
		return slices.Concat(phrase("no longer wanted, but"), k.setters("somebody"), phrase("has changed it: it stays"))
	case k.Before != nil:
		return phrase("no longer wanted, but it was so before: it stays")
	default:
		return slices.Concat(phrase("no longer wanted, but also set by"), k.setters("somebody"), []string{"as", "well:", "it", "stays"})
	}
}

// sharedNotes name the pools that want a key of somebody else, and who set it.
func sharedNotes(k Key) []string {
	words := phrase("wanted by pool")
	if len(k.WantedBy) > 1 {
		words = phrase("wanted by pools")
	}
	var names []string
	for _, pool := range k.WantedBy {
		names = append(names, review.Word(pool))
	}
	notes := [][]string{append(words, wrap.List(names)...)}
	if set := setterNotes(k); set != nil {
		notes = append(notes, append([]string{"set", "by"}, set...))
	}
	return joined(notes)
}

// setterNotes name who set a value of somebody else's; none where managed fields
// do not say.
func setterNotes(k Key) []string {
	if k.SetBy == nil {
		return nil
	}
	if k.Field == plan.Taint {
		return append(phrase("taints last written by"), k.setters("")...)
	}
	return k.setters("")
}

// setters name who set the value; unknown stands for whom managed fields do not
// name. Of a taint, they do not.
func (k Key) setters(unknown string) []string {
	if k.SetBy == nil || k.Field == plan.Taint && unknown != "" {
		return phrase(unknown)
	}
	var names []string
	for _, manager := range k.SetBy {
		names = append(names, plan.ManagerName(manager))
	}
	if len(names) > maxNamed {
		names = append(names[:maxNamed], "and more")
	}
	return wrap.List(names)
}

// maxNamed is how many field managers a line names.
const maxNamed = 3

func phrase(sentence string) []string { return strings.Fields(sentence) }

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
