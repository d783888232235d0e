package window

import (
	"errors"
	"time"
)

// An exclusion recurs, or is in force once from a start to an end, or for ever where it
// could not be read.
type exclusion struct {
	recurrence *Recurrence
	start, end time.Time
	forever    bool
	reason     string
}

func newExclusion(rule Rule) (exclusion, error) {
	e := exclusion{reason: rule.Reason}
	if rule.Schedule == "" {
		e.start, e.end = rule.Start, rule.End
		if e.start.IsZero() || e.end.IsZero() {
			e.forever = true
			return e, errors.New("has neither a schedule nor both a start and an end")
		}
		return e, nil
	}
	recurrence, err := rule.recurrence()
	e.recurrence, e.forever = recurrence, err != nil
	if err != nil {
		return e, err
	}
	return e, nil
}

func (e exclusion) covers(t time.Time) bool {
	switch {
	case e.forever:
		return true
	case e.recurrence != nil:
		return e.recurrence.covers(t)
	}
	return !t.Before(e.start) && t.Before(e.end)
}

// until returns the end of an exclusion that is in force at t; zero where there is none, or
// one that recurs covers the 400 days that follow.
func (e exclusion) until(t time.Time, b *budget) (time.Time, bool) {
	switch {
	case e.forever:
		return time.Time{}, true
	case e.recurrence != nil:
		return e.recurrence.until(t, b)
	}
	return e.end, e.covers(t)
}

// next returns the first start after t; zero where there is none.
func (e exclusion) next(t time.Time, b *budget) time.Time {
	switch {
	case e.forever:
		return time.Time{}
	case e.recurrence != nil:
		return e.recurrence.next(t, b)
	case e.start.After(t) && e.start.Before(e.end):
		return e.start
	}
	return time.Time{}
}
