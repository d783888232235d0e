package window

import (
	"testing"
	"time"
)

// Each of these goes wrong where it is asked whether the next start after the duration
// ago is not after now, with the zone left to the parser.
func TestChangesOfTheOffset(t *testing.T) {
	cases := map[string]struct {
		reason         string
		schedule, zone string
		duration       time.Duration
		at             string // a moment at which it is checked, by the clocks of the zone
		open           bool
		next           string // the first start after it
	}{
		"a start that is skipped": {
			"the night would be lost", "30 2 * * *", "Europe/Berlin", time.Hour,
			"2026-03-29T01:59:00+01:00", false, "2026-03-29T03:00:00+02:00",
		},
		"after a start that is skipped": {
			"it starts when the skipped hour is over", "30 2 * * *", "Europe/Berlin", time.Hour,
			"2026-03-29T03:59:00+02:00", true, "2026-03-30T02:30:00+02:00",
		},
		"a week of a start that is skipped": {
			"the week would be lost", "0 2 * * 0", "Europe/Berlin", time.Hour,
			"2026-03-29T03:00:00+02:00", true, "2026-04-05T02:00:00+02:00",
		},
		"a midnight that is skipped": {
			"it would open nine hours late", "0 12 * * 5", "Africa/Cairo", 20 * time.Hour,
			"2026-04-24T12:00:00+03:00", true, "2026-05-01T12:00:00+03:00",
		},
		"before it": {
			"and not earlier either", "0 12 * * 5", "Africa/Cairo", 20 * time.Hour,
			"2026-04-24T11:59:00+03:00", false, "2026-04-24T12:00:00+03:00",
		},
		"a midnight that is skipped, on the day after": {
			"it would open again on Sunday", "0 12 * * 6", "America/Santiago", 20 * time.Hour,
			"2026-09-06T12:30:00-03:00", false, "2026-09-12T12:00:00-03:00",
		},
		"half an hour that is skipped": {
			"it would open four hours late", "0 2 * * *", "Australia/Lord_Howe", time.Hour,
			"2026-10-04T02:30:00+11:00", true, "2026-10-05T02:00:00+11:00",
		},
		"an hour that is repeated": {
			"it starts twice", "30 2 * * *", "Europe/Berlin", time.Hour,
			"2026-10-25T02:30:00+02:00", true, "2026-10-25T02:30:00+01:00",
		},
		"a duration over an hour that is repeated": {
			"it is time that passes", "0 1 * * 0", "Europe/Berlin", 2 * time.Hour,
			"2026-10-25T02:00:00+01:00", false, "2026-11-01T01:00:00+01:00",
		},
		"a duration over an hour that is skipped": {
			"it is time that passes", "0 1 * * 0", "Europe/Berlin", 2 * time.Hour,
			"2026-03-29T03:59:00+02:00", true, "2026-04-05T01:00:00+02:00",
		},
		"over midnight": {
			"the day of the start counts", "0 22 * * 5", "Europe/Berlin", 6 * time.Hour,
			"2026-07-04T03:59:00+02:00", true, "2026-07-10T22:00:00+02:00",
		},
		"the last instant": {
			"the end is not part of it", "0 22 * * 5", "Europe/Berlin", 6 * time.Hour,
			"2026-07-04T04:00:00+02:00", false, "2026-07-10T22:00:00+02:00",
		},
		"a leap day eight years away": {
			"2100 is no leap year", "0 0 29 2 *", "UTC", time.Hour,
			"2097-01-01T00:00:00Z", false, "2104-02-29T00:00:00Z",
		},
		"the same in a zone that changes its offset": {
			"2100 is no leap year", "0 0 29 2 *", "Europe/Berlin", time.Hour,
			"2097-01-01T00:00:00+01:00", false, "2104-02-29T00:00:00+01:00",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := recurrence(t, c.schedule, c.zone, c.duration)
			at := moment(t, c.at)
			if open := r.covers(at); open != c.open {
				t.Errorf("open is %t at %s, want %t: %s", open, c.at, c.open, c.reason)
			}
			if next := r.Next(at); !next.Equal(moment(t, c.next)) {
				t.Errorf("starts at %v after %s, want %s: %s", next.In(r.zone), c.at, c.next, c.reason)
			}
		})
	}
}

func moment(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
