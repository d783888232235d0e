package compare

import (
	"fmt"
	"time"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// AddWindowNotes notes what does not happen at a moment although the comparison says it,
// as windows are closed: that the source would not apply a new revision, and, once the
// difference is planned, which nodes would not follow their pools. Words are the moment in
// a sentence, such as "now".
func (s *Sides) AddWindowNotes(at time.Time, words string) {
	s.moment, s.words = at, words
	if s.source == nil {
		return
	}
	if wait := plan.WindowWaitOf(s.source, "", at); wait != nil {
		s.Notes = append(s.Notes, fmt.Sprintf("NodePoolSource %q does not apply a new revision %s: %v", s.source.Name, words, wait))
	}
}

// noteWaits notes of each pool on how many nodes its changes would wait.
func (s *Sides) noteWaits(difference *plan.Difference) {
	if s.moment.IsZero() {
		return
	}
	for _, waiting := range difference.Waits(s.Before, s.moment) {
		if s.only != nil && !s.only[waiting.Pool] {
			continue
		}
		s.Notes = append(s.Notes, waitNotes(waiting, s.words)...)
	}
}

// waitNotes are what there is to say of a pool whose changes wait: for what, and, where
// nodes differ in that, for what the last of them do.
func waitNotes(waiting plan.PoolWaiting, words string) []string {
	var notes []string
	if waiting.Nodes > 0 {
		verb := "do"
		if waiting.Nodes == 1 {
			verb = "does"
		}
		note := fmt.Sprintf("%s %s not follow pool %q %s: %v", review.Count(waiting.Nodes, "node"), verb, waiting.Pool, words, waiting.Waits[0])
		if last := waiting.Waits[len(waiting.Waits)-1]; len(waiting.Waits) > 1 {
			note += fmt.Sprintf("; and the last of them: %v", last)
		}
		notes = append(notes, note)
	}
	if waiting.Class != nil {
		notes = append(notes, fmt.Sprintf("the RuntimeClass of pool %q is not replaced %s: %v", waiting.Pool, words, waiting.Class))
	}
	return notes
}
