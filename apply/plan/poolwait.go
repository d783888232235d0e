package plan

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodepools/nodepools/api/window"
)

// PoolWait is why nodes do not follow the changes of a pool yet. It says the same until
// that changes.
type PoolWait struct {
	Pool string
	// For are the pools whose rollouts are closed, sorted.
	For []string
	// Next is when all of them are open, in the zone of the first; zero where no such time
	// was found.
	Next time.Time
	// Until is when the first of them opens, and the wait may be another; zero where none
	// does.
	Until time.Time
	// Excluded reports whether a window is open, and an exclusion of this reason in force,
	// in the first pool of which that is so.
	Excluded bool
	Reason   string
	// Paused reports that a rollout is paused, and Turn that it is not the turn of the node
	// yet. For these no time is known.
	Paused, Turn bool
	// Problems are windows and exclusions that cannot be read.
	Problems []error

	from time.Time
}

func newPoolWait(pool string, names []string, closed []*rollout, now time.Time) *PoolWait {
	w := &PoolWait{Pool: pool, For: names, from: now}
	calendars := make([]*window.Calendar, len(closed))
	for i, one := range closed {
		if one.paused {
			return &PoolWait{Pool: pool, For: []string{one.name}, Paused: true, from: now}
		}
		calendars[i] = one.calendar
		w.Problems = append(w.Problems, one.calendar.Problems()...)
		if !w.Excluded && one.calendar.InWindow(now) {
			w.Reason, w.Excluded = one.calendar.Excluded(now)
		}
		if opens, found := one.calendar.Next(now); found && (w.Until.IsZero() || opens.Before(w.Until)) {
			w.Until = opens
		}
	}
	if next, found := nextOfAll(calendars, now); found {
		w.Next = next.In(calendars[0].Zone())
	}
	return w
}

// nextOfAll returns the first moment that is not before t at which all calendars are
// open, and reports whether one was found: each time that one of them is closed, the
// search goes on from its opening.
func nextOfAll(calendars []*window.Calendar, t time.Time) (time.Time, bool) {
	agreed := 0
	for i := range maxOpenings * len(calendars) {
		next, found := calendars[i%len(calendars)].Next(t)
		if !found {
			return time.Time{}, false
		}
		if next.After(t) {
			t, agreed = next, 0
		}
		if agreed++; agreed == len(calendars) {
			return t, true
		}
	}
	return time.Time{}, false
}

// maxOpenings is after how many openings of each of several calendars the search for one
// of all is given up: two years of nights.
const maxOpenings = 750

// String says what is waited for, and until when.
func (w *PoolWait) String() string {
	var text strings.Builder
	switch {
	case w.Paused:
		return "the rollout of " + describePools(w.For) + " is paused"
	case w.Turn:
		return "not their turn in the rollout of " + describePools(w.For)
	case w.Excluded && w.Reason != "":
		text.WriteString("an exclusion is in force (" + w.Reason + ") in the rollout of ")
	case w.Excluded:
		text.WriteString("an exclusion is in force in the rollout of ")
	default:
		text.WriteString("outside the windows of ")
	}
	text.WriteString(describePools(w.For))
	if w.Next.IsZero() {
		text.WriteString("; no opening was found")
	} else {
		text.WriteString("; the next opening is " + describeMoment(w.Next))
	}
	for _, problem := range w.Problems {
		text.WriteString("; " + problem.Error())
	}
	return text.String()
}

// maxWaitedFor is how many pools that are waited for are named.
const maxWaitedFor = 3

func describePools(names []string) string {
	quoted := make([]string, 0, maxWaitedFor)
	for _, name := range names[:min(len(names), maxWaitedFor)] {
		quoted = append(quoted, strconv.Quote(name))
	}
	text := "pool " + quoted[0]
	if len(names) > 1 {
		text = "pools " + strings.Join(quoted, ", ")
	}
	if more := len(names) - len(quoted); more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}

// Equal reports whether two waits say the same.
func (w *PoolWait) Equal(other *PoolWait) bool {
	return w.Pool == other.Pool && w.Next.Equal(other.Next) && w.Excluded == other.Excluded && w.Reason == other.Reason && w.Paused == other.Paused && w.Turn == other.Turn && slices.Equal(w.For, other.For)
}

// FirstWait is the one of several that ends first; nil of none.
func FirstWait(waits []*PoolWait) *PoolWait {
	if len(waits) == 0 {
		return nil
	}
	return slices.MinFunc(waits, comparePoolWaits)
}
