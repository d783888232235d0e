package agenda

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/api/table"
	v1 "github.com/nodepools/nodepools/api/v1"
)

const (
	dayAndMinute = "Mon 2006-01-02 15:04"
	minute       = "2006-01-02 15:04"
)

// WriteText writes the agenda in lines of 80 columns, but for names and reasons that are
// longer.
func (a *Agenda) WriteText(w io.Writer) error {
	var text strings.Builder
	for i, entry := range a.Entries {
		if i > 0 {
			text.WriteString("\n")
		}
		entry.write(&text, a.At)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func (e Entry) write(text *strings.Builder, at time.Time) {
	fmt.Fprintf(text, "%s %s (%s)\n  %s\n", e.Kind, sanitize.Line(e.Name), sanitize.Line(e.File), e.state(at))
	for _, problem := range e.Problems {
		fmt.Fprintf(text, "  %s\n", sanitize.Line(problem))
	}
	if e.Unrestricted || e.Paused || len(e.Openings) == 0 {
		return
	}
	var rows [][]string
	for _, opening := range e.Openings {
		closes := "-"
		if opening.End != nil {
			closes = opening.End.InZone.Format(dayAndMinute)
		}
		rows = append(rows, []string{
			opening.Start.InZone.Format(dayAndMinute), closes, opening.Start.UTC.Format(minute), opening.Start.Local.Format(minute),
		})
	}
	openings.Write(text, rows)
}

// openings is the table of what is to come. Its columns are equally wide for all
// entries.
var openings = table.Text{Indent: "  ", Gap: "  ", Columns: []table.Column{
	{Title: "OPENS", Width: len(dayAndMinute)}, {Title: "CLOSES", Width: len(dayAndMinute)},
	{Title: "OPENS, UTC", Width: len(minute)}, {Title: "OPENS, LOCAL", Width: len(minute)},
}}

// state says whether it may change at the moment, and why not.
func (e Entry) state(at time.Time) string {
	zone := "; in " + e.TimeZone + ":"
	switch {
	case e.Paused:
		return "paused: no node follows, whatever the windows say"
	case e.Unrestricted && e.Kind == v1.NodePoolKind:
		return "nodes may follow at any time, as far as windows are concerned"
	case e.Unrestricted:
		return "may apply a revision at any time"
	case len(e.Openings) == 0 && e.Excluded:
		return "closed, and no opening was found: " + e.exclusion()
	case len(e.Openings) == 0:
		return "closed, and no opening was found"
	case e.Open:
		return "open at " + at.Format(time.RFC3339) + zone
	case e.Excluded:
		return "closed at " + at.Format(time.RFC3339) + ": " + e.exclusion() + zone
	}
	return "closed at " + at.Format(time.RFC3339) + zone
}

func (e Entry) exclusion() string {
	if e.Reason == "" {
		return "an exclusion is in force"
	}
	return "excluded, " + sanitize.Line(e.Reason)
}
