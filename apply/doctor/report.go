package doctor

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/api/wrap"
)

// Severity says how bad a finding is.
type Severity string

// The severities. Only a problem makes a cluster unhealthy.
const (
	// OK is a check that has found nothing.
	OK Severity = "ok"
	// Note is something to know, such as a pool that somebody has paused.
	Note Severity = "note"
	// Unknown is a check that could not be made.
	Unknown Severity = "unknown"
	// Problem is something that is wrong.
	Problem Severity = "problem"
)

// Finding is what a check says.
type Finding struct {
	Severity Severity `json:"severity"`
	Check    Check    `json:"check"`
	// Object is what it is about, as kind/name; empty where that is the whole cluster.
	Object string `json:"object,omitempty"`
	// Message says what is the case, and Action what to do about it.
	Message string `json:"message"`
	Action  string `json:"action,omitempty"`
}

// Report is all that is found.
type Report struct {
	Cluster  string    `json:"cluster"`
	Healthy  bool      `json:"healthy"`
	Findings []Finding `json:"findings"`
}

// maxFindings bounds what one check reports of one severity: the thousandth node has the
// same cause as the first.
const maxFindings = 10

// Examine makes every check.
func Examine(s *State) *Report {
	report := &Report{Cluster: s.Server, Findings: []Finding{}}
	for _, check := range []struct {
		name Check
		find func(*State) []Finding
		fine func(*State) string
	}{
		{Definitions, definitions, func(*State) string { return "both are those of this program" }},
		{Policies, policies, func(*State) string { return "both are in force" }},
		{Rights, rights, rightsFine},
		{Controller, controller, controllerFine},
		{Lease, lease, leaseFine},
		{Metrics, metrics, metricsFine},
		{Versions, versions, func(s *State) string { return "Kubernetes " + s.Kubernetes }},
		{Sources, sources, func(s *State) string { return sourcesFine(s) }},
		{Pools, pools, func(s *State) string { return fmt.Sprintf("%d, all as they should be", len(s.Pools)) }},
		{Nodes, nodes, nodesFine},
	} {
		if err := s.Unread[check.name]; err != nil {
			report.Findings = append(report.Findings, Finding{Severity: Unknown, Check: check.name, Message: "not checked: " + err.Error(), Action: hint.Of(err)})
			continue
		}
		found := check.find(s)
		for i := range found {
			found[i].Check = check.name
		}
		if !slices.ContainsFunc(found, func(f Finding) bool { return f.Severity == Problem }) && !overridden(found) {
			found = append([]Finding{{Severity: OK, Check: check.name, Message: check.fine(s)}}, found...)
		}
		report.Findings = append(report.Findings, bounded(check.name, found)...)
	}
	report.Healthy = !slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.Severity == Problem })
	return report
}

// overridden reports whether a note takes the place of saying that all is fine: one
// about the whole check.
func overridden(found []Finding) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return f.Object == "" })
}

// bounded puts problems first, and counts those that are too many to read.
func bounded(check Check, found []Finding) []Finding {
	var kept []Finding
	for _, severity := range []Severity{OK, Problem, Unknown, Note} {
		count := 0
		for _, f := range found {
			if f.Severity != severity {
				continue
			}
			if count++; count <= maxFindings {
				kept = append(kept, f)
			}
		}
		if count > maxFindings {
			kept = append(kept, Finding{Severity: severity, Check: check, Message: fmt.Sprintf("and %d more of the same kind", count-maxFindings)})
		}
	}
	return kept
}

// longest is how much of a message is shown, in characters: it may repeat what a server
// has answered.
const longest = 600

// WriteText writes the report for people: a line for each finding, and one for what to
// do about it.
func (r *Report) WriteText(w io.Writer) error {
	var text bytes.Buffer
	problems, unknown := 0, 0
	for _, f := range r.Findings {
		switch f.Severity {
		case Problem:
			problems++
		case Unknown:
			unknown++
		case OK, Note:
		}
		subject := string(f.Check)
		if f.Object != "" {
			subject = f.Object
		}
		const indent = "         "
		first := fmt.Sprintf("%-7s  ", f.Severity)
		wrap.Hang(&text, first, indent, strings.Fields(subject+": "+line(f.Message)))
		if f.Action != "" {
			wrap.Hang(&text, indent+"-> ", indent+"   ", strings.Fields(line(f.Action)))
		}
	}
	switch {
	case problems == 0 && unknown > 0:
		// Who may read nothing must not be told that all is well.
		fmt.Fprintf(&text, "\nnothing wrong was found in %s, of which %d of the checks could not be made\n", line(r.Cluster), unknown)
	case problems == 0:
		fmt.Fprintln(&text, "\nnothing is wrong with "+line(r.Cluster))
	case problems == 1:
		fmt.Fprintln(&text, "\n1 problem in "+line(r.Cluster))
	default:
		fmt.Fprintf(&text, "\n%d problems in %s\n", problems, line(r.Cluster))
	}
	_, err := io.WriteString(w, sanitize.Text(text.String()))
	return err
}

func line(text string) string {
	return sanitize.Line(sanitize.ClipRunes(strings.Join(strings.Fields(text), " "), longest))
}
