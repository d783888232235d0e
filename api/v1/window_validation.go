package v1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/nodepools/nodepools/api/window"
)

// The bounds that the schema sets; validation repeats them.
const (
	maxWindows         = 16
	maxExclusions      = 64
	maxReasonLength    = 256
	minWindowDuration  = time.Minute
	maxWindowDuration  = 31 * 24 * time.Hour
	noTimeText         = "must be after 0001-01-01T00:00:00Z, which stands for no time at all"
	durationBoundsText = "must be between 1m and 744h, which is 31 days"
)

// ValidateCalendar returns what is wrong with windows and exclusions. Beside what the API
// server refuses, it finds zones that do not exist, and schedules whose days do not.
func ValidateCalendar(windows []Window, exclusions []Exclusion, at *field.Path) field.ErrorList {
	var problems field.ErrorList
	if windows != nil && len(windows) == 0 {
		problems = append(problems, field.Required(at.Child("windows"), "leave it out to have no windows"))
	}
	if exclusions != nil && len(exclusions) == 0 {
		problems = append(problems, field.Required(at.Child("exclusions"), "leave it out to have none"))
	}
	if len(windows) > maxWindows {
		problems = append(problems, field.TooMany(at.Child("windows"), len(windows), maxWindows))
	}
	if len(exclusions) > maxExclusions {
		problems = append(problems, field.TooMany(at.Child("exclusions"), len(exclusions), maxExclusions))
	}
	for i, w := range windows {
		problems = append(problems, validateRecurrence(w.Schedule, w.TimeZone, &w.Duration, at.Child("windows").Index(i))...)
	}
	for i, e := range exclusions {
		problems = append(problems, validateExclusion(e, at.Child("exclusions").Index(i))...)
	}
	return problems
}

func validateRecurrence(schedule Schedule, zone TimeZone, duration *metav1.Duration, at *field.Path) field.ErrorList {
	var problems field.ErrorList
	if schedule == "" {
		problems = append(problems, field.Required(at.Child("schedule"), "it says when the window opens"))
	} else if _, err := window.ParseSchedule(string(schedule)); err != nil {
		problems = append(problems, field.Invalid(at.Child("schedule"), string(schedule), err.Error()))
	}
	if _, err := window.LoadZone(string(zone)); err != nil {
		problems = append(problems, field.Invalid(at.Child("timeZone"), string(zone), err.Error()))
	}
	switch {
	case duration == nil || duration.Duration == 0:
		problems = append(problems, field.Required(at.Child("duration"), "it says how long the window stays open"))
	case duration.Duration < minWindowDuration || duration.Duration > maxWindowDuration:
		problems = append(problems, field.Invalid(at.Child("duration"), duration.Duration.String(), durationBoundsText))
	}
	return problems
}

func validateExclusion(e Exclusion, at *field.Path) field.ErrorList {
	var problems field.ErrorList
	if len([]rune(e.Reason)) > maxReasonLength {
		problems = append(problems, field.TooLongMaxLength(at.Child("reason"), "", maxReasonLength))
	}
	once := e.Start != nil || e.End != nil
	switch {
	case e.Schedule != "" && once:
		return append(problems, field.Forbidden(at, "must have either a schedule and a duration, or a start and an end"))
	case e.Schedule != "":
		return append(problems, validateRecurrence(e.Schedule, e.TimeZone, e.Duration, at)...)
	case e.Start == nil || e.End == nil:
		return append(problems, field.Required(at, "must have either a schedule and a duration, or a start and an end"))
	case e.TimeZone != "" || e.Duration != nil:
		return append(problems, field.Forbidden(at, "timeZone and duration are for a schedule: a start and an end say their offset themselves"))
	case e.Start.IsZero():
		return append(problems, field.Invalid(at.Child("start"), e.Start.UTC().Format(time.RFC3339), noTimeText))
	case e.End.IsZero():
		return append(problems, field.Invalid(at.Child("end"), e.End.UTC().Format(time.RFC3339), noTimeText))
	case !e.Start.Before(e.End):
		return append(problems, field.Invalid(at.Child("end"), e.End.UTC().Format(time.RFC3339), "must be after start"))
	}
	return problems
}

// WarnCalendar returns what is valid in windows and exclusions and makes no sense: windows
// that are always open, and exclusions that leave nothing of the windows. Validation has
// no clock: it looks at the years from a fixed date on, and leaves exclusions out that
// happen once.
func WarnCalendar(windows []Window, exclusions []Exclusion, at *field.Path) field.ErrorList {
	if len(ValidateCalendar(windows, exclusions, at)) > 0 {
		return nil
	}
	var warnings field.ErrorList
	for i := range windows {
		if alone := calendarOf(windows[i:i+1], nil); alwaysOpen(alone) {
			warnings = append(warnings, field.Invalid(at.Child("windows").Index(i), nil, "is always open: it opens again before it closes"))
		}
	}
	if len(windows) > 1 && len(warnings) == 0 && alwaysOpen(calendarOf(windows, nil)) {
		warnings = append(warnings, field.Invalid(at.Child("windows"), nil, "are always open together"))
	}
	var recurring []Exclusion
	for _, e := range exclusions {
		if e.Schedule != "" {
			recurring = append(recurring, e)
		}
	}
	if _, opens := calendarOf(windows, recurring).Next(validFrom); !opens {
		warnings = append(warnings, field.Invalid(at.Child("exclusions"), nil, "leave no opening of the windows"))
	}
	return warnings
}

// validFrom is a moment from which windows are tried out.
var validFrom = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)

func alwaysOpen(calendar *window.Calendar) bool {
	first, opens := calendar.Next(validFrom)
	return opens && calendar.Until(first).IsZero()
}
