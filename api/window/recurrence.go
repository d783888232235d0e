package window

import "time"

// A Recurrence is a window that comes again and again.
type Recurrence struct {
	schedule *Schedule
	zone     *time.Location
	duration time.Duration
}

// NewRecurrence returns the windows of a duration that start at a schedule, by the
// clocks of a zone.
func NewRecurrence(schedule *Schedule, zone *time.Location, duration time.Duration) *Recurrence {
	return &Recurrence{schedule: schedule, zone: zone, duration: duration}
}

const (
	// searchYears is how far a next start is searched for. The rarest days are those of
	// leap years, which are eight years apart around 2100.
	searchYears = 9
	// mergeLimit is how far windows that touch are followed: past the next change of the
	// offset of the same kind, which may be 371 days away. What is open for longer
	// has no end.
	mergeLimit = 400 * 24 * time.Hour
)

// Next returns the first start after t; zero where there is none within nine years.
//
// The schedule is evaluated in stretches of time in which the zone keeps its offset, each
// on a clock that never changes. A start that the clocks skip happens at the first
// instant after the skipped hour. One in an hour that is repeated happens twice.
func (r *Recurrence) Next(t time.Time) time.Time { return r.next(t, nil) }

func (r *Recurrence) next(t time.Time, b *budget) time.Time {
	// In UTC, so that no zone of the argument has a part in it.
	limit := t.UTC().AddDate(searchYears, 0, 0)
	for after := t.UTC(); after.Before(limit); {
		_, offset := after.In(r.zone).Zone()
		end := r.stretchEnd(after)
		start := r.within(after, end, offset, limit, b)
		if !start.IsZero() || end.IsZero() {
			return start
		}
		_, later := end.In(r.zone).Zone()
		if r.skipped(end, offset, later, b) {
			return end.UTC()
		}
		// From here on by the new offset, and at the very instant at which it begins, too.
		if start = b.next(r.schedule, end.UTC().Add(-1), later); start.Equal(end) {
			return end.UTC()
		}
		after = end.UTC()
	}
	return time.Time{}
}

// stretchEnd returns the end of the stretch that t is in; zero where it never ends. On the
// last day of a leap year beyond the table of a zone, which ends in 2037, ZoneBounds
// names an end that is over. No zone changes its offset around that day.
func (r *Recurrence) stretchEnd(t time.Time) time.Time {
	_, end := t.In(r.zone).ZoneBounds()
	if !end.IsZero() && !end.After(t) {
		return t.Add(24 * time.Hour)
	}
	return end
}

// within returns the first start after t and before end; zero where there is none. An
// end that is zero never comes.
func (r *Recurrence) within(t, end time.Time, offset int, limit time.Time, b *budget) time.Time {
	for ; t.Before(limit) && (end.IsZero() || t.Before(end)); t = t.AddDate(4, 0, 0) {
		// The parser's search ends after five years.
		start := b.next(r.schedule, t, offset)
		if start.IsZero() {
			continue
		}
		if end.IsZero() || start.Before(end) {
			return start
		}
		return time.Time{}
	}
	return time.Time{}
}

// skipped reports whether a start lies in what the clocks skip when they go from an
// offset to a later one.
func (r *Recurrence) skipped(at time.Time, offset, later int, b *budget) bool {
	if later <= offset {
		return false
	}
	start := b.next(r.schedule, at.UTC().Add(-1), offset)
	return !start.IsZero() && start.Before(at.Add(time.Duration(later-offset)*time.Second))
}

// last returns the last start after since and not after t; zero where there is none.
func (r *Recurrence) last(since, t time.Time, b *budget) time.Time {
	found := r.next(since, b)
	if found.IsZero() || found.After(t) {
		return time.Time{}
	}
	if start := r.next(found, b); start.IsZero() || start.After(t) {
		return found // as most windows close before they open again
	}
	for t.Sub(found) > time.Second {
		middle := found.Add(t.Sub(found) / 2)
		if start := r.next(middle, b); start.IsZero() || start.After(t) {
			t = middle
		} else {
			found = start
		}
	}
	// Starts are whole seconds.
	if start := r.next(found, b); !start.IsZero() && !start.After(t) {
		return start
	}
	return found
}

// covers reports whether a window is open at t: whether one started after t minus the
// duration, and not after t.
func (r *Recurrence) covers(t time.Time) bool { return r.open(t, nil) }

func (r *Recurrence) open(t time.Time, b *budget) bool {
	start := r.next(t.Add(-r.duration), b)
	return !start.IsZero() && !start.After(t)
}

// until returns the end of the window that is open at t, and of those that follow it
// without a pause; zero where that is more than 400 days away. It reports whether one
// is open. Once the budget is spent, it is the end of one of them.
func (r *Recurrence) until(t time.Time, b *budget) (time.Time, bool) {
	start := r.last(t.Add(-r.duration), t, b)
	if start.IsZero() {
		return time.Time{}, false
	}
	limit := t.Add(mergeLimit)
	for {
		end := start.Add(r.duration)
		if end.After(limit) {
			return time.Time{}, true
		}
		if b.spent() {
			return end, true
		}
		following := r.last(start, r.reach(start, end, b), b)
		if following.IsZero() {
			return end, true
		}
		start = following
	}
}

// reach returns until when starts may be passed over, as windows from one to the next
// leave no pause: to the end of the day, while the offset stays and where the starts of
// a day are close enough, or else to the end of the window. Windows of one minute at
// every minute would be half a million otherwise.
func (r *Recurrence) reach(start, end time.Time, b *budget) time.Time {
	if r.schedule.intraday > r.duration {
		return end
	}
	local := start.In(r.zone)
	_, offset := local.Zone()
	if regular := b.next(r.schedule, start.UTC().Add(-1), offset); !regular.Equal(start) {
		return end // it stands for one that was skipped, and the next of this day may be far
	}
	fixed := start.In(time.FixedZone("", offset))
	day := time.Date(fixed.Year(), fixed.Month(), fixed.Day()+1, 0, 0, 0, 0, fixed.Location()).Add(-time.Second)
	if changes := r.stretchEnd(start); !changes.IsZero() && !day.Before(changes) {
		day = changes.Add(-time.Second)
	}
	if day.After(end) {
		return day
	}
	return end
}
