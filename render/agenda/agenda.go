// Package agenda lists when sources may apply a new revision, and when nodes may follow
// their pools: whether they may at a moment, why not, and in which openings after it.
// Start with [Of]; [Agenda.WriteText] writes it for people.
package agenda

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/api/window"
)

// The version and the kind of the document.
const (
	APIVersion = "windows.nodes.lailin.xyz/v1"
	Kind       = "Windows"
)

// Agenda is the document of what may change when.
type Agenda struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// At is the moment that it is about, in UTC.
	At time.Time `json:"at"`
	// Entries are those of sources and of pools, by kind and name.
	Entries []Entry `json:"entries"`
}

// Entry is about one source or pool.
type Entry struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	File string `json:"file"`
	// Open reports whether it may change at the moment.
	Open bool `json:"open"`
	// Paused is true where the rollout of a pool is paused: then it is not open.
	Paused bool `json:"paused,omitempty"`
	// Unrestricted is true where there are neither windows nor exclusions.
	Unrestricted bool `json:"unrestricted,omitempty"`
	// Excluded is true where it may not, as an exclusion is in force; Reason is its.
	Excluded bool   `json:"excluded,omitempty"`
	Reason   string `json:"reason,omitempty"`
	// TimeZone is that of the first window.
	TimeZone string `json:"timeZone"`
	// Openings come one after the other. One that has begun at the moment starts then.
	Openings []Opening `json:"openings"`
	// Problems are windows and exclusions that cannot be read, or make no sense.
	Problems []string `json:"problems,omitempty"`
}

// Opening is a time in which something may change. An end is left out where it is more
// than 400 days away.
type Opening struct {
	Start Moment  `json:"start"`
	End   *Moment `json:"end,omitempty"`
}

// Moment is one moment by three clocks, as RFC 3339 writes it.
type Moment struct {
	InZone time.Time `json:"inZone"`
	UTC    time.Time `json:"utc"`
	Local  time.Time `json:"local"`
}

// Subject is what has a calendar.
type Subject struct {
	Kind, Name, File string
	Calendar         *window.Calendar
	// Paused reports that nothing changes, whatever the calendar says.
	Paused bool
	// warnings are about what is valid and makes no sense.
	warnings []string
}

// OfSource returns a source as a subject; file is where it stands.
func OfSource(source *v1.NodePoolSource, file string) Subject {
	subject := Subject{Kind: v1.NodePoolSourceKind, Name: source.Name, File: file, Calendar: source.Calendar()}
	for _, warning := range v1.WarnCalendar(source.Spec.Windows, source.Spec.Exclusions, field.NewPath("spec")) {
		subject.warnings = append(subject.warnings, warning.Field+": "+warning.Detail)
	}
	return subject
}

// OfPool returns a pool that has a rollout as a subject; file is where it stands.
func OfPool(pool *v1.NodePool, file string) Subject {
	subject := Subject{Kind: v1.NodePoolKind, Name: pool.Name, File: file, Calendar: pool.Calendar(), Paused: pool.Spec.Rollout.Paused}
	for _, warning := range v1.WarnRollout(pool) {
		subject.warnings = append(subject.warnings, warning.Field+": "+warning.Detail)
	}
	return subject
}

// Of lists the next openings of subjects after a moment, count at most of each. Local is
// the zone of who reads it.
func Of(subjects []Subject, at time.Time, count int, local *time.Location) *Agenda {
	a := &Agenda{APIVersion: APIVersion, Kind: Kind, At: at.UTC().Truncate(time.Second), Entries: []Entry{}}
	for _, subject := range subjects {
		calendar := subject.Calendar
		zone := calendar.Zone()
		entry := Entry{
			Kind: subject.Kind, Name: subject.Name, File: subject.File, TimeZone: zone.String(),
			Open: calendar.Open(at) && !subject.Paused, Paused: subject.Paused, Unrestricted: calendar.Unrestricted(), Openings: []Opening{},
		}
		entry.Reason, entry.Excluded = calendar.Excluded(at)
		for _, problem := range calendar.Problems() {
			entry.Problems = append(entry.Problems, problem.Error())
		}
		entry.Problems = append(entry.Problems, subject.warnings...)
		for _, o := range calendar.Openings(a.At, count) {
			opening := Opening{Start: momentOf(o.Start, zone, local)}
			if !o.End.IsZero() {
				end := momentOf(o.End, zone, local)
				opening.End = &end
			}
			entry.Openings = append(entry.Openings, opening)
		}
		a.Entries = append(a.Entries, entry)
	}
	slices.SortStableFunc(a.Entries, func(a, b Entry) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return a
}

func momentOf(t time.Time, zone, local *time.Location) Moment {
	return Moment{InZone: t.In(zone), UTC: t.UTC(), Local: t.In(local)}
}
