package plan

import (
	"time"

	"github.com/nodepools/nodepools/api/window"
)

// opening are calendars that have to be open together.
type opening struct {
	calendars []*window.Calendar
	at        time.Time
	found     bool
	asked     bool
}

// next is the first moment that is not before t at which all are open, if there is one.
func (o *opening) next(t time.Time) (time.Time, bool) {
	if !o.asked || o.found && o.at.Before(t) {
		o.asked = true
		o.at, o.found = nextOfAll(o.calendars, t, maxTogether)
	}
	return o.at, o.found
}

// maxTogether is how many openings are looked at in the search for one of several pools.
// A controller looks again at each opening, and finds what one search of it may not.
const maxTogether = 2000

// openingOf are the calendars of pools; nil where they have none, or one is paused.
func (f *foresight) openingOf(pools []*rollout) *opening {
	one, id := &opening{}, ""
	for _, pool := range pools {
		if pool.paused {
			return nil
		}
		if pool.calendar != nil {
			one.calendars = append(one.calendars, pool.calendar)
			id += pool.name + "/"
		}
	}
	if len(one.calendars) == 0 {
		return nil
	}
	if f.openings[id] == nil {
		f.openings[id] = one
	}
	return f.openings[id]
}
