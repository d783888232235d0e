package token

import (
	"testing"
	"time"
)

func TestRenewal(t *testing.T) {
	issued := time.Date(2026, 11, 25, 1, 0, 0, 0, time.UTC)
	for reason, c := range map[string]struct{ lasts, renewed time.Duration }{
		"an hour, as at GitHub":            {time.Hour, 55 * time.Minute},
		"the shortest session of AWS":      {15 * time.Minute, 10 * time.Minute},
		"ten minutes, where both agree":    {10 * time.Minute, 5 * time.Minute},
		"less, or it would never be fresh": {4 * time.Minute, 2 * time.Minute},
		"some seconds":                     {4 * time.Second, 2 * time.Second},
	} {
		if got := renewal(issued, issued.Add(c.lasts)).Sub(issued); got != c.renewed {
			t.Errorf("%s: renewed after %s, want %s", reason, got, c.renewed)
		}
	}
	for asked, want := range map[time.Duration]time.Duration{-time.Hour: time.Second, 0: time.Second, time.Minute: time.Minute, time.Hour * 1000: 10 * time.Minute} {
		if got := wait(asked); got != want {
			t.Errorf("a server that asks for %s is left alone for %s, want %s", asked, got, want)
		}
	}
	if got := bounded(issued.Add(1000*time.Hour), issued); got != issued.Add(24*time.Hour) {
		t.Errorf("a token that lasts for ever is kept until %s", got)
	}
}
