package status

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/api/command"
	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/api/table"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/api/wrap"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// Source is how far a source is in applying its newest revision. Its phases are those of
// pools: it is Stalled where somebody has to act, Paused where it is suspended too, and
// Complete where its newest revision is applied.
type Source struct {
	Name  string `json:"name"`
	Phase Phase  `json:"phase"`
	// Reason and Message are those of the condition of the source, Since its last transition,
	// and Condition its type: Stalled, Reconciling or Ready.
	Reason    string       `json:"reason,omitempty"`
	Message   string       `json:"message,omitempty"`
	Condition string       `json:"condition,omitempty"`
	Since     *metav1.Time `json:"since,omitempty"`
	// Revision is the one that is applied, Attempted the newest one that was polled, and
	// Pools how many pools are in the first.
	Revision  string `json:"revision,omitempty"`
	Attempted string `json:"attempted,omitempty"`
	Pools     int    `json:"pools"`
	// Steps are what a person can do so that it goes on.
	Steps []Step `json:"steps,omitempty"`
}

func sourceOf(src *v1.NodePoolSource) Source {
	s := Source{
		Name: src.Name, Phase: phaseOfSource(src), Pools: int(src.Status.Pools),
		Revision: src.Status.Revision, Attempted: src.Status.LastAttemptedRevision,
	}
	if condition := conditionOf(src.Status.Conditions); condition != nil {
		s.Reason, s.Message, s.Condition, s.Since = condition.Reason, condition.Message, condition.Type, &condition.LastTransitionTime
	}
	s.Steps = stepsOfSource(src, s)
	return s
}

// phaseOfSource reads the phase of a source off its status.
func phaseOfSource(src *v1.NodePoolSource) Phase {
	conditions := src.Status.Conditions
	ready := meta.FindStatusCondition(conditions, v1.ReadyCondition)
	state := plan.SourceOutcomeOf(src).State()
	switch {
	case state == plan.SourceStateSuspended, state == plan.SourceStatePaused:
		return Paused
	case ready == nil:
		return Unknown
	case src.Status.ObservedGeneration != src.Generation:
		return Progressing
	case meta.IsStatusConditionTrue(conditions, v1.StalledCondition):
		return Stalled
	case state != plan.SourceStateActive:
		return Deleting
	case ready.Status == metav1.ConditionTrue:
		return Complete
	case ready.Reason == v1.WaitingForWindowReason, ready.Reason == v1.WaitingForSourceReason:
		return Waiting
	}
	return Progressing
}

// stepsOfSource are what a person can do about a source that does not go on by itself.
func stepsOfSource(src *v1.NodePoolSource, s Source) []Step {
	switch {
	case s.Phase == Paused && src.Spec.Suspend:
		return []Step{{"resume the source, set spec.suspend to false", ""}}
	case s.Phase == Paused:
		return []Step{{"resume the source", command.RemoveAnnotation(command.Sources, v1.ReconcileAnnotation, src.Name)}}
	case s.Phase != Stalled && s.Phase != Progressing, s.Reason == v1.ProgressingReason, s.Condition == v1.ReadyCondition:
		return nil
	}
	switch s.Reason {
	case v1.PruneBlockedReason:
		return []Step{{"delete the pools that are kept", command.ApproveSource(src.Name)}}
	case v1.ReleaseBlockedReason:
		return []Step{{"apply the revision in spite of it", command.ApproveSource(src.Name)}}
	case v1.InvalidReason:
		return []Step{{"go on, correct the files that the message names, and push", ""}}
	case v1.ClaimedReason:
		return []Step{{"go on, hand the pools over, by the command in the message", ""}}
	}
	return []Step{{"poll the repository at once", command.Reconcile(src.Name)}}
}

// longestRevision is how wide a column of revisions may be.
const longestRevision = 24

// listSources writes a line for each source, and of those that need a person what to do.
func (r *Report) listSources(w io.Writer) {
	columns := []table.Column{{Title: "SOURCE"}, {Title: "PHASE"}, {Title: "REVISION"}, {Title: "REASON"}}
	rows, name, revision := make([][]string, len(r.Sources)), len("SOURCE"), len("REVISION")
	for i, source := range r.Sources {
		rows[i] = []string{review.Word(source.Name), string(source.Phase), shortened(source.Revision), cmp.Or(sanitize.Line(source.Reason), "-")}
		name, revision = max(name, len([]rune(rows[i][0]))), min(max(revision, len([]rune(rows[i][2]))), longestRevision)
	}
	columns[0].Width, columns[1].Width, columns[2].Width = min(name, longestPool), len(Progressing), revision
	columns[3].Width = wrap.Width - columns[0].Width - len(Progressing) - revision - 3*2
	table.Text{Columns: columns, Gap: "  "}.Write(w, rows)
	for _, source := range r.Sources {
		if !source.needsPerson() {
			continue
		}
		fmt.Fprintln(w)
		wrap.Hang(w, "Source ", "  ", strings.Fields(source.line()))
		writeSteps(w, source.Steps)
	}
}

// needsPerson reports whether the source does not go on by itself, or is about to fail.
func (s Source) needsPerson() bool {
	return s.Phase == Stalled || s.Phase == Progressing && len(s.Steps) > 0
}

// shortened is a revision in short; a dash where there is none.
func shortened(revision string) string {
	if revision == "" {
		return "-"
	}
	return review.Word(sanitize.ClipRunes(v1.ShortRevision(revision), longestRevision))
}

// maxSourceMessage bounds what a list says of one source; the fields have all of it.
const maxSourceMessage = 1200

func (s Source) line() string {
	text := review.Word(s.Name) + ": " + string(s.Phase)
	if s.Revision != "" {
		text += ", at " + shortened(s.Revision)
	}
	if s.Phase != Complete && s.Reason != "" {
		text += "; " + s.Reason + ": " + s.Message
	}
	return sanitize.ClipRunes(sanitize.Line(text), maxSourceMessage)
}

// Line says in one line how far the source is.
func (s Source) Line() string { return "source " + s.line() }

func compareSources(a, b Source) int {
	return cmp.Or(cmp.Compare(a.Phase.rank(), b.Phase.rank()), strings.Compare(a.Name, b.Name))
}

func sourcesOf(sources []*v1.NodePoolSource) []Source {
	all := make([]Source, 0, len(sources))
	for _, src := range sources {
		all = append(all, sourceOf(src))
	}
	slices.SortFunc(all, compareSources)
	return all
}
