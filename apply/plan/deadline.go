package plan

import (
	"time"

	"github.com/nodepools/nodepools/api/window"
)

// Stuck is a rollout whose next step takes longer than its progress deadline.
type Stuck struct {
	// Since is when it made its last step, or could have made the next one.
	Since time.Time
	// Deadline is how long the next one may take while the rollout is open.
	Deadline time.Duration
}

// String says for how long nothing has happened.
func (s Stuck) String() string {
	return "no further node has begun to follow, and no wave has begun, since " + describeMoment(s.Since.UTC()) +
		", for longer than the progressDeadline of " + s.Deadline.String()
}

// deadlineOf is when a rollout counts as stuck if it makes no further step, and since when it
// has made none; zero where it has no deadline, or waits for what does not count. Waiting are
// the pools that wait in it, by rank.
func (r *Rollouts) deadlineOf(pool *rollout, p *progress, waiting []bool) (since, at time.Time) {
	if pool.deadline == 0 || p.halt.Holds() {
		return since, at
	}
	for _, state := range p.states {
		if state != nil && state.Behind == 0 && state.Unavailable.None() {
			return since, at // it soaks, or waits for an approval
		}
	}
	since = pool.changed
	for _, one := range r.pools {
		if waiting[one.rank] {
			since = latest(since, one.changed)
		}
	}
	for _, node := range p.members {
		after := pool.minReady
		if wave := p.of[node.Name]; wave < len(pool.waves) {
			after = max(after, pool.waves[wave].soak)
		}
		switch _, behind := p.first[node.Name]; {
		case node.Change.At.IsZero():
		case behind: // it has begun, and is drained, or a weaker change waits on it still
			since = latest(since, node.Change.At)
		default:
			since = latest(since, node.Change.At.Add(after))
		}
	}
	var calendars []*window.Calendar
	for _, one := range r.ordering(pool, p.members) {
		switch {
		case one.paused:
			return since, at
		case one.calendar != nil:
			calendars = append(calendars, one.calendar)
		}
	}
	return since, afterOpenTime(calendars, since, pool.deadline)
}

// ordering are the pools that say when changes of a pool go on, on any of its nodes.
func (r *Rollouts) ordering(pool *rollout, members []*Follower) []*rollout {
	names := map[string]bool{}
	for _, node := range members {
		for _, name := range node.Pools {
			names[name] = true
		}
	}
	var found []*rollout
	for name := range names {
		if one := r.pools[name]; one != nil && one.orders() && one.governs(pool) {
			found = append(found, one)
		}
	}
	return found
}

// maxOpenings bounds how many openings are looked at for a deadline.
const maxOpenings = 1000

// afterOpenTime is when calendars have all been open for some time since a moment; zero
// where that is too far away to be found.
func afterOpenTime(calendars []*window.Calendar, since time.Time, left time.Duration) time.Time {
	at := since
	for range maxOpenings {
		opens, closes := at, time.Time{}
		for _, calendar := range calendars {
			if !calendar.Open(at) {
				next, found := calendar.Next(at)
				if !found {
					return time.Time{}
				}
				opens = latest(opens, next)
			} else if until := calendar.Until(at); closes.IsZero() || !until.IsZero() && until.Before(closes) {
				closes = until
			}
		}
		switch {
		case opens.After(at):
			at = opens
		case closes.IsZero() || !at.Add(left).After(closes):
			return at.Add(left)
		default:
			left -= closes.Sub(at)
			at = closes
		}
	}
	return time.Time{}
}
