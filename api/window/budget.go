package window

import "time"

// maxEvaluations is after how many evaluations of schedules a search is given up. One
// takes about a microsecond, and few searches need more than a hundred; nine years of
// nights that are excluded need more than there are.
const maxEvaluations = 20_000

// A budget counts the evaluations of schedules that a search still has. A nil one never
// ends. A search that has spent its own ends at the next occasion, and none of its
// answers is wrong by that: see [Calendar.Next] and [Calendar.Until].
type budget struct{ left int }

func newBudget() *budget { return &budget{left: maxEvaluations} }

// next evaluates a schedule: see [Schedule.next].
func (b *budget) next(s *Schedule, t time.Time, offset int) time.Time {
	if b != nil {
		b.left--
	}
	return s.next(t, offset)
}

func (b *budget) spent() bool { return b != nil && b.left <= 0 }
