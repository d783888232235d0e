package window

import (
	"testing"
	"time"
)

// A start may be years away. What zones do that change their offset is compared with the
// clock on the wall: see [TestEqualsBruteForce].
func TestRareStarts(t *testing.T) {
	cases := map[string]struct {
		reason         string
		schedule, zone string
		duration       time.Duration
		at             string // a moment at which it is checked, by the clocks of the zone
		open           bool
		next           string // the first start after it
	}{
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
