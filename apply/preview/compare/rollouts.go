package compare

import (
	"slices"
	"time"

	"github.com/nodepools/nodepools/apply/plan"
)

// applied is when the source applies the revision, if as soon as it may; zero where it
// never may.
func (s *Sides) applied() time.Time {
	if s.source != nil {
		if wait := plan.WindowWaitOf(s.source, "", s.moment); wait != nil {
			return wait.Next
		}
	}
	return s.moment
}

// schedules foretell when nodes follow. There are none where the source never applies the
// revision.
func (s *Sides) schedules(difference *plan.Difference) []plan.PoolSchedule {
	from := s.applied()
	if from.IsZero() {
		return nil
	}
	return slices.DeleteFunc(difference.Schedules(s.Before, from), func(schedule plan.PoolSchedule) bool {
		return s.only != nil && !s.only[schedule.Pool]
	})
}

// drains are the taints of which nodes are drained before they come. A source that never
// applies the revision is taken for one that does so at once, as it is for what happens to
// pods.
func (s *Sides) drains(difference *plan.Difference) map[string][]plan.DrainBefore {
	from := s.applied()
	if from.IsZero() {
		from = s.moment
	}
	return difference.Drains(s.Before, from)
}

// noteRollouts notes the pools that ask no rollout, and the rollouts that the revision weakens.
func (s *Sides) noteRollouts(difference *plan.Difference) {
	if s.moment.IsZero() {
		return
	}
	for _, bypass := range difference.Bypasses(s.Before, s.moment) {
		s.Notes = append(s.Notes, bypass.String())
	}
	for _, weakening := range difference.Weakenings(s.moment) {
		s.Notes = append(s.Notes, weakening.String())
	}
}

// noteEmptyWaves notes the waves that no node is in, of the pools that the revision changes.
func (s *Sides) noteEmptyWaves(difference *plan.Difference) {
	if s.moment.IsZero() {
		return
	}
	s.emptyWaves = slices.DeleteFunc(difference.EmptyWaves(s.Before, s.moment), func(wave plan.EmptyWave) bool {
		return s.only != nil && !s.only[wave.Pool]
	})
	for _, wave := range s.emptyWaves {
		s.Notes = append(s.Notes, wave.String())
	}
}
