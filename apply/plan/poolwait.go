package plan

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nodepools/nodepools/api/window"
)

// PoolWait is why nodes do not follow the changes of a pool yet.
type PoolWait struct {
	Pool string
	*Restriction
}

// Restriction is what is waited for. It says the same until that changes.
type Restriction struct {
	// For are the pools that are waited for, the strongest first; the first maxClosed of
	// them.
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
	// Obstacle is what keeps the node from being drained, or what the API server says where it
	// refuses the changes, which Refused reports: all that the pool changes there waits until
	// somebody acts. It is empty where nothing does.
	Obstacle string
	Refused  bool
	// Problems are windows and exclusions that cannot be read.
	Problems []error

	once sync.Once
	from time.Time
}

const (
	// maxClosed is how many pools a wait names, and looks for an opening of.
	maxClosed = 16
	// maxSearch is how many openings are looked at in the search for one of several pools.
	maxSearch = 64
	// maxRestrictions bounds how many restrictions are kept, and restrictionPeriod for how
	// long: an exclusion that begins or ends meanwhile is another reason.
	maxRestrictions   = 1000
	restrictionPeriod = 10 * time.Minute
)

// restrictionOf is what is waited for while pools are closed; they are sorted, the strongest
// first.
func (r *Rollouts) restrictionOf(closed []*rollout, now time.Time) *Restriction {
	closed = closed[:min(len(closed), maxClosed)]
	c := r.remembered("", closed, now)
	c.once.Do(func() { c.search(closed, now) })   // and not under the lock
	if !c.Until.IsZero() && !c.Until.After(now) { // one has opened since, and has closed again
		r.forget(c)
		c = r.remembered("", closed, now)
		c.once.Do(func() { c.search(closed, now) })
	}
	return c
}

// forget forgets a restriction.
func (r *Rollouts) forget(c *Restriction) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.restrictions, func(_ string, one *Restriction) bool { return one == c })
}

// turnOf is what is waited for while it is not the turn of a node in pools.
func (r *Rollouts) turnOf(limiting []*rollout, now time.Time) *Restriction {
	c := r.remembered("turn", limiting[:min(len(limiting), maxClosed)], now)
	c.once.Do(func() { c.Turn = true })
	return c
}

// obstacleOf is what is waited for while a taint keeps a node from being drained, or the API
// server refuses what a pool changes.
func (r *Rollouts) obstacleOf(pool string, o obstacle, now time.Time) *Restriction {
	if o.refused { // by so many texts that others would not be remembered
		return r.refusedOf(pool, o.text)
	}
	c := r.remembered("obstacle "+o.text, []*rollout{o.by}, now)
	c.once.Do(func() { c.Obstacle = o.text + "; " + o.remedy() })
	return c
}

// refusedOf is what is waited for while the API server refuses what a pool changes.
func (r *Rollouts) refusedOf(pool, says string) *Restriction {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := pool + "/" + says
	if known := r.refusals[id]; known != nil {
		return known
	}
	if r.refusals == nil || len(r.refusals) >= maxRestrictions {
		r.refusals = map[string]*Restriction{}
	}
	c := &Restriction{For: []string{pool}, Obstacle: says, Refused: true}
	r.refusals[id] = c
	return c
}

func (r *Rollouts) remembered(kind string, pools []*rollout, now time.Time) *Restriction {
	names := make([]string, len(pools))
	for i, one := range pools {
		names[i] = one.name
	}
	id := kind + "/" + strings.Join(names, "/")
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.restrictions[id]; known != nil && !now.Before(known.from) && now.Before(known.from.Add(restrictionPeriod)) {
		return known
	}
	if len(r.restrictions) >= maxRestrictions {
		clear(r.restrictions)
	}
	c := &Restriction{For: names, from: now}
	r.restrictions[id] = c
	return c
}

// search fills in until when pools are closed, and why.
func (c *Restriction) search(closed []*rollout, now time.Time) {
	calendars := make([]*window.Calendar, len(closed))
	for i, one := range closed {
		if one.paused {
			c.Paused, c.For = true, []string{one.name}
			return
		}
		calendars[i] = one.calendar
		c.Problems = append(c.Problems, one.calendar.Problems()...)
		if !c.Excluded && one.calendar.InWindow(now) {
			c.Reason, c.Excluded = one.calendar.Excluded(now)
		}
		if opens, found := one.calendar.Next(now); found && (c.Until.IsZero() || opens.Before(c.Until)) {
			c.Until = opens
		}
	}
	if next, found := nextOfAll(calendars, now, maxSearch); found {
		c.Next = next.In(calendars[0].Zone())
	}
}

// nextOfAll returns the first moment that is not before t at which all calendars are
// open, and reports whether one was found: each time that one of them is closed, the
// search goes on from its opening. So many openings are looked at, at the most.
func nextOfAll(calendars []*window.Calendar, t time.Time, most int) (time.Time, bool) {
	agreed := 0
	for i := range most {
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

// String says what is waited for, and until when.
func (c *Restriction) String() string {
	var text strings.Builder
	switch {
	case c.Obstacle != "":
		return c.Obstacle
	case c.Paused:
		return "the rollout of " + describePools(c.For) + " is paused"
	case c.Turn:
		return "nodes take turns in the rollout of " + describePools(c.For)
	case c.Excluded && c.Reason != "":
		text.WriteString("an exclusion is in force (" + c.Reason + ") in the rollout of ")
	case c.Excluded:
		text.WriteString("an exclusion is in force in the rollout of ")
	default:
		text.WriteString("outside the windows of ")
	}
	text.WriteString(describePools(c.For))
	if c.Next.IsZero() {
		text.WriteString("; no opening was found")
	} else {
		text.WriteString("; the next opening is " + describeMoment(c.Next))
	}
	for _, problem := range c.Problems {
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
func (w *PoolWait) Equal(other *PoolWait) bool { return comparePoolWaits(w, other) == 0 }

// FirstWait is the one of several that ends first; nil of none.
func FirstWait(waits []PoolWait) *PoolWait {
	if len(waits) == 0 {
		return nil
	}
	first := slices.MinFunc(waits, func(a, b PoolWait) int { return comparePoolWaits(&a, &b) })
	return &first
}

// comparePoolWaits orders the wait that ends first before others: turns are taken all the
// time. One of which no end was found is among the last, and one that ends when somebody acts
// comes after all others.
func comparePoolWaits(a, b *PoolWait) int {
	return cmp.Or(
		CompareBools(a.Obstacle != "", b.Obstacle != ""), CompareBools(b.Turn, a.Turn), CompareBools(a.Next.IsZero(), b.Next.IsZero()), a.Next.Compare(b.Next),
		slices.Compare(a.For, b.For), strings.Compare(a.Pool, b.Pool),
		CompareBools(a.Paused, b.Paused), CompareBools(a.Excluded, b.Excluded), strings.Compare(a.Reason, b.Reason),
		strings.Compare(a.Obstacle, b.Obstacle), CompareBools(a.Refused, b.Refused),
	)
}

// CompareBools orders false before true.
func CompareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
