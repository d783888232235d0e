package window

import (
	"testing"
	"time"
)

func TestCalendar(t *testing.T) {
	nightly := Rule{Schedule: "0 2 * * *", TimeZone: "Europe/Berlin", Duration: 2 * time.Hour}
	rule := func(schedule string, duration time.Duration) Rule {
		return Rule{Schedule: schedule, TimeZone: "Europe/Berlin", Duration: duration}
	}
	once := func(start, end string) Rule {
		return Rule{Start: moment(t, start), End: moment(t, end), Reason: "peak season"}
	}
	cases := map[string]struct {
		reason              string
		windows, exclusions []Rule
		at                  string
		next, until         string // of the first opening; empty where there is none
	}{
		"nothing said":               {"always open", nil, nil, "2026-07-01T12:00:00+02:00", "2026-07-01T12:00:00+02:00", ""},
		"a window":                   {"the next night", []Rule{nightly}, nil, "2026-07-01T12:00:00+02:00", "2026-07-02T02:00:00+02:00", "2026-07-02T04:00:00+02:00"},
		"inside a window":            {"it is open already", []Rule{nightly}, nil, "2026-07-01T03:00:00+02:00", "2026-07-01T03:00:00+02:00", "2026-07-01T04:00:00+02:00"},
		"windows that overlap":       {"they are one", []Rule{nightly, rule("0 3 * * *", 3*time.Hour)}, nil, "2026-07-01T12:00:00+02:00", "2026-07-02T02:00:00+02:00", "2026-07-02T06:00:00+02:00"},
		"windows that touch":         {"they are one", []Rule{nightly, rule("0 4 * * *", time.Hour)}, nil, "2026-07-01T12:00:00+02:00", "2026-07-02T02:00:00+02:00", "2026-07-02T05:00:00+02:00"},
		"longer than its period":     {"always open", []Rule{rule("0 2 * * *", 30*time.Hour)}, nil, "2026-07-01T12:00:00+02:00", "2026-07-01T12:00:00+02:00", ""},
		"as long as its period":      {"the day on which clocks go back has 25 hours", []Rule{rule("0 12 * * *", 24*time.Hour)}, nil, "2026-07-01T12:00:00+02:00", "2026-07-01T12:00:00+02:00", "2026-10-25T11:00:00+01:00"},
		"an evening that is skipped": {"its start comes at midnight, and the day begins an hour later", []Rule{{Schedule: "* 1-23 * * *", TimeZone: "America/Nuuk", Duration: 2 * time.Minute}}, nil, "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:02:00Z"},
		"only exclusions":            {"open but for them", nil, []Rule{once("2026-07-01T00:00:00Z", "2026-08-01T00:00:00Z")}, "2026-07-02T12:00:00Z", "2026-08-01T00:00:00Z", ""},
		"an exclusion to come":       {"it ends the opening", nil, []Rule{once("2026-07-01T00:00:00Z", "2026-08-01T00:00:00Z")}, "2026-06-02T12:00:00Z", "2026-06-02T12:00:00Z", "2026-07-01T00:00:00Z"},
		"an exclusion within":        {"the window opens in two parts", []Rule{nightly}, []Rule{rule("30 2 * * *", 30*time.Minute)}, "2026-07-01T12:00:00+02:00", "2026-07-02T02:00:00+02:00", "2026-07-02T02:30:00+02:00"},
		"within the exclusion":       {"the second part", []Rule{nightly}, []Rule{rule("30 2 * * *", 30*time.Minute)}, "2026-07-02T02:30:00+02:00", "2026-07-02T03:00:00+02:00", "2026-07-02T04:00:00+02:00"},
		"an exclusion of two years":  {"what comes after it", []Rule{nightly}, []Rule{once("2026-01-01T00:00:00Z", "2028-01-01T00:00:00Z")}, "2026-07-01T12:00:00Z", "2028-01-01T02:00:00+01:00", "2028-01-01T04:00:00+01:00"},
		"exclusions that follow":     {"each other without a pause", nil, []Rule{once("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"), once("2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z")}, "2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z", ""},
		"every window excluded":      {"never", []Rule{nightly}, []Rule{rule("0 1 * * *", 4*time.Hour)}, "2026-07-01T12:00:00Z", "", ""},
		"every hour excluded":        {"never, and soon known", []Rule{rule("* * * * *", time.Minute)}, []Rule{rule("* * * * *", time.Minute)}, "2026-07-01T12:00:00Z", "", ""},
		"every other minute":         {"never; given up", []Rule{rule("*/2 * * * *", time.Minute)}, []Rule{rule("*/2 * * * *", time.Minute)}, "2026-07-01T12:00:00Z", "", ""},
		"unknown zone of a window":   {"closed", []Rule{{Schedule: "* * * * *", TimeZone: "Europe/Atlantis", Duration: time.Hour}}, nil, "2026-07-01T12:00:00Z", "", ""},
		"and one that is known":      {"that one counts", []Rule{{Schedule: "* * * * *", TimeZone: "Europe/Atlantis", Duration: time.Hour}, nightly}, nil, "2026-07-01T12:00:00Z", "2026-07-02T02:00:00+02:00", "2026-07-02T04:00:00+02:00"},
		"unknown zone of exclusion":  {"in force", nil, []Rule{{Schedule: "0 0 1 1 *", TimeZone: "Europe/Atlantis", Duration: time.Hour}}, "2026-07-01T12:00:00Z", "", ""},
		"impossible date":            {"closed", []Rule{rule("0 0 30 2 *", time.Hour)}, nil, "2026-07-01T12:00:00Z", "", ""},
		"impossible date, excluded":  {"in force", nil, []Rule{rule("0 0 30 2 *", time.Hour)}, "2026-07-01T12:00:00Z", "", ""},
		"exclusion without its end":  {"in force", nil, []Rule{{Start: moment(t, "2020-01-01T00:00:00Z")}}, "2019-07-01T12:00:00Z", "", ""},
		"minutes that take turns":    {"they are one; its end is some way off", []Rule{rule("0-58/2 * * * *", time.Minute), rule("1-59/2 * * * *", time.Minute)}, nil, "2026-07-01T12:00:00Z", "2026-07-01T12:00:00Z", "2026-07-04T23:20:00Z"},
		"exclusion that starts then": {"a window needs time to be open", []Rule{nightly}, []Rule{once("2026-07-02T00:00:00Z", "2026-07-02T22:00:00Z")}, "2026-07-01T12:00:00Z", "2026-07-03T02:00:00+02:00", "2026-07-03T04:00:00+02:00"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			calendar, at := New(c.windows, c.exclusions), moment(t, c.at)
			next, found := calendar.Next(at)
			if found != (c.next != "") || found && !next.Equal(moment(t, c.next)) {
				t.Fatalf("opens at %v (found: %t), want %q: %s", next.In(calendar.Zone()), found, c.next, c.reason)
			}
			if open := calendar.Open(at); open != (found && next.Equal(at)) {
				t.Errorf("open at %s is %t, and the next opening at %v", c.at, open, next)
			}
			until := calendar.Until(next)
			if until.IsZero() != (c.until == "") || c.until != "" && !until.Equal(moment(t, c.until)) {
				t.Errorf("open until %v, want %q: %s", until.In(calendar.Zone()), c.until, c.reason)
			}
		})
	}
}

func TestOpenings(t *testing.T) {
	calendar := New([]Rule{{Schedule: "0 2 * * 6", TimeZone: "Europe/Berlin", Duration: 4 * time.Hour}}, []Rule{
		{Schedule: "0 0 1 * *", TimeZone: "Europe/Berlin", Duration: 24 * time.Hour, Reason: "closing of the books"},
	})
	at := moment(t, "2026-07-25T03:00:00+02:00")
	got := calendar.Openings(at, 3)
	want := []Opening{
		{at, moment(t, "2026-07-25T06:00:00+02:00")},
		{moment(t, "2026-08-08T02:00:00+02:00"), moment(t, "2026-08-08T06:00:00+02:00")}, // August 1 is a Saturday
		{moment(t, "2026-08-15T02:00:00+02:00"), moment(t, "2026-08-15T06:00:00+02:00")},
	}
	if len(got) != len(want) {
		t.Fatalf("%d openings: %v, want %v", len(got), got, want)
	}
	for i := range want {
		if !got[i].Start.Equal(want[i].Start) || !got[i].End.Equal(want[i].End) {
			t.Errorf("opening %d is %v, want %v", i, got[i], want[i])
		}
	}
	if reason, excluded := calendar.Excluded(moment(t, "2026-08-01T03:00:00+02:00")); !excluded || reason != "closing of the books" {
		t.Errorf("excluded is %t for %q", excluded, reason)
	}
	if always := New(nil, nil); len(always.Openings(at, 5)) != 1 || !always.Unrestricted() {
		t.Errorf("what is always open has openings %v", always.Openings(at, 5))
	}
}

// What cannot be read is reported, and never opens anything.
func TestProblems(t *testing.T) {
	unknown := Rule{Schedule: "0 2 * * *", TimeZone: "Europe/Atlantis", Duration: time.Hour}
	problems := New([]Rule{unknown}, []Rule{unknown, {}}).Problems()
	want := []string{
		`windows[0]: timeZone "Europe/Atlantis" is not in the time zone database; it stays closed`,
		`exclusions[0]: timeZone "Europe/Atlantis" is not in the time zone database; it is in force for ever`,
		`exclusions[1]: has neither a schedule nor both a start and an end; it is in force for ever`,
	}
	if len(problems) != len(want) {
		t.Fatalf("problems %v, want %v", problems, want)
	}
	for i := range want {
		if problems[i].Error() != want[i] {
			t.Errorf("problem %q, want %q", problems[i], want[i])
		}
	}
}
