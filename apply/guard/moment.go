package guard

import "time"

// moment is a point in time by two clocks. On Linux the monotonic clock stops
// while the machine sleeps, and the wall clock does not; the wall clock may be
// set, and the monotonic clock may not. The time that has passed since is the
// longer one of the two.
type moment struct {
	at time.Time // with the reading of the monotonic clock
}

func now() moment { return moment{time.Now()} }

func (m moment) known() bool { return !m.at.IsZero() }

// within reports whether no more than the limit has passed since a moment. It
// is false for the zero moment.
func (m moment) within(limit time.Duration) bool {
	return m.known() && m.passed(time.Now()) < limit
}

// passed returns the time from the moment to a later one.
func (m moment) passed(later time.Time) time.Duration {
	return max(later.Sub(m.at), later.Round(0).Sub(m.at.Round(0)))
}
