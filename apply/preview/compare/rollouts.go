package compare

import (
	"slices"

	"github.com/nodepools/nodepools/apply/plan"
)

// schedules foretell when nodes follow, if the source applies the revision as soon as it
// may. There are none where it never may.
func (s *Sides) schedules(difference *plan.Difference) []plan.PoolSchedule {
	from := s.moment
	if s.source != nil {
		if wait := plan.WindowWaitOf(s.source, "", from); wait != nil {
			if from = wait.Next; from.IsZero() {
				return nil
			}
		}
	}
	return slices.DeleteFunc(difference.Schedules(s.Before, from), func(schedule plan.PoolSchedule) bool {
		return s.only != nil && !s.only[schedule.Pool]
	})
}

// weakenings are the pools whose rollouts the revision weakens.
func (s *Sides) weakenings(difference *plan.Difference) []plan.Weakening {
	return slices.DeleteFunc(difference.Weakenings(s.Before, s.moment), func(weakening plan.Weakening) bool {
		return s.only != nil && !s.only[weakening.Pool]
	})
}

// noteWeakenings notes the pools whose rollouts the revision weakens.
func (s *Sides) noteWeakenings(difference *plan.Difference) {
	if s.moment.IsZero() {
		return
	}
	for _, weakening := range s.weakenings(difference) {
		s.Notes = append(s.Notes, weakening.String())
	}
}
