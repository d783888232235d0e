package v1

import "github.com/nodepools/nodepools/api/window"

// Calendar returns when revisions of the source may be applied.
func (source *NodePoolSource) Calendar() *window.Calendar {
	return calendarOf(source.Spec.Windows, source.Spec.Exclusions)
}

// Calendar returns when nodes may follow changes of the pool; nil where that is at any
// time, as it has no rollout.
func (p *NodePool) Calendar() *window.Calendar {
	if p.Spec.Rollout == nil {
		return nil
	}
	return calendarOf(p.Spec.Rollout.Windows, p.Spec.Rollout.Exclusions)
}

func calendarOf(windows []Window, exclusions []Exclusion) *window.Calendar {
	open, excluded := make([]window.Rule, len(windows)), make([]window.Rule, len(exclusions))
	for i, w := range windows {
		open[i] = window.Rule{Schedule: string(w.Schedule), TimeZone: string(w.TimeZone), Duration: w.Duration.Duration}
	}
	for i, e := range exclusions {
		excluded[i] = window.Rule{Schedule: string(e.Schedule), TimeZone: string(e.TimeZone), Reason: e.Reason}
		if e.Duration != nil {
			excluded[i].Duration = e.Duration.Duration
		}
		if e.Start != nil {
			excluded[i].Start = e.Start.Time
		}
		if e.End != nil {
			excluded[i].End = e.End.Time
		}
	}
	return window.New(open, excluded)
}
