package window

import (
	"fmt"
	"time"
)

// A Rule is a window or an exclusion as it is declared: a schedule with its zone and
// duration, or, for an exclusion, a start and an end.
type Rule struct {
	Schedule, TimeZone string
	Duration           time.Duration
	Start, End         time.Time
	Reason             string
}

// times is the rule without its reason: rules of the same times are of the same effect.
func (r Rule) times() Rule {
	r.Start, r.End, r.Reason = r.Start.UTC(), r.End.UTC(), ""
	return r
}

// recurrence returns what recurs by the rule.
func (r Rule) recurrence() (*Recurrence, error) {
	schedule, err := ParseSchedule(r.Schedule)
	if err != nil {
		return nil, fmt.Errorf("schedule %q %w", r.Schedule, err)
	}
	zone, err := LoadZone(r.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("timeZone %q %w", r.TimeZone, err)
	}
	return NewRecurrence(schedule, zone, r.Duration), nil
}

// A Calendar says when something may change: in the union of its windows, or always
// where it has none, and never during an exclusion. It is safe for concurrent use.
type Calendar struct {
	restricted bool // there are windows, and be it that none can be read
	windows    []*Recurrence
	exclusions []exclusion
	problems   []error
}

// New returns the calendar of windows and exclusions; of exclusions of the same times, the
// first has the reason. A rule that cannot be read, as its
// zone is not known here, never opens anything: such a window stays closed, and such an
// exclusion is in force for ever. [Calendar.Problems] has the reasons.
func New(windows, exclusions []Rule) *Calendar {
	c := &Calendar{restricted: len(windows) > 0}
	seen := map[Rule]bool{}
	for i, rule := range windows {
		recurrence, err := rule.recurrence()
		if err != nil {
			c.problems = append(c.problems, fmt.Errorf("windows[%d]: %w; it stays closed", i, err))
			continue
		}
		if rule = rule.times(); seen[rule] {
			continue
		}
		seen[rule] = true
		c.windows = append(c.windows, recurrence)
	}
	clear(seen)
	for i, rule := range exclusions {
		e, err := newExclusion(rule)
		if err != nil {
			c.problems = append(c.problems, fmt.Errorf("exclusions[%d]: %w; it is in force for ever", i, err))
		} else if seen[rule.times()] {
			continue
		}
		seen[rule.times()] = true
		c.exclusions = append(c.exclusions, e)
	}
	return c
}

// Problems are the rules that cannot be read.
func (c *Calendar) Problems() []error { return c.problems }

// Unrestricted reports whether the calendar is open at every moment, as it has neither
// windows nor exclusions.
func (c *Calendar) Unrestricted() bool { return !c.restricted && len(c.exclusions) == 0 }

// HasWindows reports whether the calendar is closed outside of windows.
func (c *Calendar) HasWindows() bool { return c.restricted }

// Zone is the zone of the first window or exclusion that has one; UTC where none has.
func (c *Calendar) Zone() *time.Location {
	for _, w := range c.windows {
		return w.zone
	}
	for _, e := range c.exclusions {
		if e.recurrence != nil {
			return e.recurrence.zone
		}
	}
	return time.UTC
}

// Open reports whether something may change at t.
func (c *Calendar) Open(t time.Time) bool {
	_, excluded := c.Excluded(t)
	return !excluded && c.InWindow(t)
}

// Excluded returns the reason of the exclusion that is in force at t, and whether one is.
func (c *Calendar) Excluded(t time.Time) (reason string, excluded bool) {
	for i := range c.exclusions {
		if c.exclusions[i].covers(t) {
			return c.exclusions[i].reason, true
		}
	}
	return "", false
}

// InWindow reports whether t is in a window, excluded or not; always where there is none.
func (c *Calendar) InWindow(t time.Time) bool { return c.opens(t, nil) }

func (c *Calendar) opens(t time.Time, b *budget) bool {
	for _, w := range c.windows {
		if w.open(t, b) {
			return true
		}
	}
	return !c.restricted
}

// Next returns the first moment that is not before t at which the calendar is open. It
// reports false where none was found: there is none within nine years, or so many windows
// before it are excluded that the search is given up.
func (c *Calendar) Next(t time.Time) (time.Time, bool) { return c.next(t, newBudget()) }

func (c *Calendar) next(t time.Time, b *budget) (time.Time, bool) {
	limit := t.AddDate(searchYears, 0, 0)
	for !b.spent() && t.Before(limit) {
		end, excluded := union(c.exclusions, t, b)
		switch {
		case excluded && end.IsZero():
			return time.Time{}, false
		case excluded:
			t = end
			continue
		case c.opens(t, b):
			return t, true
		}
		if t = c.nextWindow(t, b); t.IsZero() {
			return time.Time{}, false
		}
	}
	return time.Time{}, false
}

// nextWindow is the first start of a window after t; zero where there is none.
func (c *Calendar) nextWindow(t time.Time, b *budget) time.Time {
	var first time.Time
	for _, w := range c.windows {
		first = earlier(first, w.next(t, b))
	}
	return first
}

// Until returns the end of the opening that t is in: windows that overlap or touch are
// one, and the start of an exclusion ends them. It is zero where the calendar stays open
// for more than 400 days, or is not open at t. Where so many
// windows touch that the search is given up, it is the end of one of them.
func (c *Calendar) Until(t time.Time) time.Time { return c.until(t, newBudget()) }

func (c *Calendar) until(t time.Time, b *budget) time.Time {
	if !c.Open(t) {
		return time.Time{}
	}
	var end time.Time
	if c.restricted {
		if end, _ = union(c.windows, t, b); end.After(t.Add(mergeLimit)) {
			end = time.Time{}
		}
	}
	for i := range c.exclusions {
		end = earlier(end, c.exclusions[i].next(t, b))
	}
	return end
}

// An Opening is a time in which something may change: from Start until End, which is not
// part of it. An End that is zero is more than 400 days away.
type Opening struct{ Start, End time.Time }

// Openings returns the next openings, n at most. One that t is in comes first, and
// starts at t.
func (c *Calendar) Openings(t time.Time, n int) []Opening {
	var openings []Opening
	for len(openings) < n {
		start, found := c.Next(t)
		if !found {
			break
		}
		end := c.Until(start)
		openings = append(openings, Opening{Start: start, End: end})
		if end.IsZero() {
			break
		}
		t = end
	}
	return openings
}

// earlier returns the first of two moments, where a zero one never comes.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// A span returns until when it covers t without a pause, as [Recurrence.until] does.
type span interface {
	until(t time.Time, b *budget) (time.Time, bool)
}

// union returns until when spans cover t together without a pause; zero where that is
// more than 400 days away. It reports whether one covers t. When the budget is spent,
// it returns until when they do at least.
func union[S span](spans []S, t time.Time, b *budget) (time.Time, bool) {
	covered := false
	limit := t.Add(mergeLimit)
	for end := t; ; {
		furthest := end
		for _, s := range spans {
			reached, covers := s.until(end, b)
			if covers && reached.IsZero() {
				return time.Time{}, true
			}
			covered = covered || covers
			if covers && reached.After(furthest) {
				furthest = reached
			}
		}
		if furthest.Equal(end) || b.spent() {
			return furthest, covered
		}
		if end = furthest; end.After(limit) {
			return end, true
		}
	}
}
