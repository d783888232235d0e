package plan

import (
	"fmt"
	"slices"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// WindowWait is why a revision is not applied yet: its source is outside its windows,
// or an exclusion is in force. It says the same until that changes.
type WindowWait struct {
	// Next is when the revision may be applied; zero where no such moment was found.
	Next time.Time
	// Excluded reports whether a window is open, and an exclusion of this reason in force.
	Excluded bool
	Reason   string
	// Standing reports that the source has the revision already. What is left of it is
	// repair, which does not wait; what it deletes does.
	Standing bool
	// Problems are windows and exclusions that cannot be read.
	Problems []error
}

func (w *WindowWait) Error() string {
	text := "outside the windows of the source"
	if w.Excluded {
		text = "an exclusion of the source is in force"
		if w.Reason != "" {
			text += " (" + w.Reason + ")"
		}
	}
	if w.Next.IsZero() {
		text += "; no opening was found"
	} else {
		text += "; the next opening is " + describeMoment(w.Next)
	}
	for _, problem := range w.Problems {
		text += "; " + problem.Error()
	}
	return text
}

// describeMoment is a moment by the clocks of its zone, and in UTC.
func describeMoment(t time.Time) string {
	text := t.Format(time.RFC3339)
	if _, offset := t.Zone(); offset != 0 {
		text += fmt.Sprintf(" (%s)", t.UTC().Format(time.RFC3339))
	}
	return text
}

// WindowWaitOf returns why a revision of a source is not applied at a moment; nil where
// it may be.
//
// Of the revision that the source has already, only what it deletes waits: what else is
// left of it is repair.
func WindowWaitOf(source *v1.NodePoolSource, revision string, at time.Time) *WindowWait {
	calendar := source.Calendar()
	switch {
	case calendar.Unrestricted(), calendar.Open(at):
		return nil
	}
	wait := &WindowWait{Problems: calendar.Problems(), Standing: revision != "" && revision == source.Status.Revision}
	if calendar.InWindow(at) { // or else exclusions come and go, and nothing opens
		wait.Reason, wait.Excluded = calendar.Excluded(at)
	}
	if next, found := calendar.Next(at); found {
		wait.Next = next.In(calendar.Zone())
	}
	return wait
}

func (w *WindowWait) standing() bool { return w != nil && w.Standing }

// postponeDeletes takes what is deleted out of the changes, until a window opens. What is
// remembered of a blocked prune stays until then, even if its approval is withdrawn.
func (p *PoolsPlan) postponeDeletes(revision Revision) {
	p.Postponed = p.Deletes()
	if len(p.Postponed) == 0 {
		return
	}
	p.Changes = p.Repairs().Changes
	if !slices.ContainsFunc(p.Changes, func(change PoolChange) bool { return change.isUnder(p.Number) }) {
		p.Number = 0
	}
	p.OwnedAfter += len(p.Postponed)
	if p.Blocked == nil {
		p.BlockedPrune = revision.Prune.Blocked
	}
}

// Awaiting returns the revision as it is where it has to wait; nil is no reason to.
func (r Revision) Awaiting(wait *WindowWait) Revision {
	r.Wait = wait
	return r
}

// Repairs returns the plan of a revision that a newer one waits to follow: what has been
// changed by hand is put back, and nothing is deleted. An approval of a prune is bound to
// the revision, which is about to be another.
func (p *PoolsPlan) Repairs() *PoolsPlan {
	repairs := &PoolsPlan{Number: p.Number, NotBefore: p.NotBefore}
	for _, change := range p.Changes {
		if change.Action != Delete {
			repairs.Changes = append(repairs.Changes, change)
		}
	}
	return repairs
}
