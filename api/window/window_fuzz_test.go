package window

import (
	"testing"
	"time"
)

// Whatever is taken for a schedule starts some day, and what is not is refused without a
// panic.
func FuzzParseSchedule(f *testing.F) {
	for _, text := range []string{"0 2 * * 6", "TZ=UTC", "CRON_TZ=x", "@every 1h", "*/90 * * * *", "0 0 30 2 *", "0 2 1-7 * 6", "@daily", "1,,2 * * * *", "0 22-2 * * *"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSchedule(text)
		if _, panicked := parse(text); panicked == nil && err == nil && s == nil {
			t.Fatalf("%q is neither a schedule nor an error", text)
		}
		if err == nil && s.next(beforeALeapYear, 0).IsZero() {
			t.Errorf("%q is a schedule that never starts", text)
		}
	})
}

// The next opening is open, nothing is open before it, and it is open until its end. All
// of it is what the starts of the window say.
func FuzzOpenings(f *testing.F) {
	f.Add("30 2 * * *", "Europe/Berlin", int64(60), "0 3 * * 0", int64(30), int64(1774742400))
	f.Add("0 12 * * 5", "Africa/Cairo", int64(1200), "", int64(0), int64(1776988800))
	f.Add("0 2 * * *", "Australia/Lord_Howe", int64(60), "* * * * *", int64(1), int64(1790000000))
	f.Add("* * * * *", "America/Santiago", int64(44640), "0 0 1 * *", int64(1440), int64(1788652800))
	f.Fuzz(func(t *testing.T, schedule, zone string, minutes int64, excluded string, excludedMinutes, at int64) {
		// From 1972 on, offsets are whole minutes.
		moment := time.Unix(1e8+(at%4e9+4e9)%4e9, 0)
		window, err := Rule{Schedule: schedule, TimeZone: zone, Duration: time.Duration(1+(minutes%44640+44640)%44640) * time.Minute}.recurrence()
		if err != nil {
			t.Skip()
		}
		rules := []Rule{{Schedule: schedule, TimeZone: zone, Duration: window.duration}}
		var exclusions []Rule
		if excluded != "" {
			exclusions = []Rule{{Schedule: excluded, TimeZone: zone, Duration: time.Duration(1+(excludedMinutes%44640+44640)%44640) * time.Minute}}
		}
		calendar := New(rules, exclusions)
		next, found := calendar.Next(moment)
		if !found {
			return
		}
		if next.Before(moment) || !calendar.Open(next) || calendar.Open(moment) != next.Equal(moment) {
			t.Fatalf("next opening after %v is %v, open then: %t, open before: %t", moment, next, calendar.Open(next), calendar.Open(moment))
		}
		until := calendar.Until(next)
		for i := range 50 {
			if between := moment.Add(next.Sub(moment) / 50 * time.Duration(i)); between.Before(next) && calendar.Open(between) {
				t.Errorf("%v is open, and the next opening is at %v", between, next)
			}
			if within := next.Add(until.Sub(next) / 50 * time.Duration(i)); until.After(next) && !calendar.Open(within) {
				t.Errorf("%v is closed, within %v and %v", within, next, until)
			}
		}
		if last := window.last(moment.Add(-window.duration), moment, nil); last.IsZero() == window.covers(moment) {
			t.Errorf("last start before %v is %v, and open is %t", moment, last, window.covers(moment))
		}
	})
}
