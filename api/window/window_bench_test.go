package window

import (
	"testing"
	"time"
)

func BenchmarkCalendar(b *testing.B) {
	cases := map[string]Rule{
		"nightly":            {Schedule: "0 2 * * *", TimeZone: "Europe/Berlin", Duration: 4 * time.Hour},
		"every minute":       {Schedule: "* * * * *", TimeZone: "Europe/Berlin", Duration: time.Minute},
		"every minute, 31 d": {Schedule: "* * * * *", TimeZone: "Europe/Berlin", Duration: 31 * 24 * time.Hour},
		"on weekdays":        {Schedule: "* * * * 1-5", TimeZone: "Europe/Berlin", Duration: time.Minute},
		"leap days":          {Schedule: "0 0 29 2 *", TimeZone: "Europe/Berlin", Duration: time.Hour},
	}
	at := moment(b, "2026-03-28T12:00:00Z")
	for name, rule := range cases {
		calendar := New([]Rule{rule}, nil)
		b.Run("open/"+name, func(b *testing.B) {
			for b.Loop() {
				calendar.Open(at)
			}
		})
		b.Run("next/"+name, func(b *testing.B) {
			for b.Loop() {
				calendar.Next(at)
			}
		})
		b.Run("until/"+name, func(b *testing.B) {
			for b.Loop() {
				next, _ := calendar.Next(at)
				calendar.Until(next)
			}
		})
	}
	never := New([]Rule{cases["nightly"]}, []Rule{{Schedule: "0 1 * * *", TimeZone: "Europe/Berlin", Duration: 6 * time.Hour}})
	b.Run("next/never", func(b *testing.B) {
		for b.Loop() {
			never.Next(at)
		}
	})
}
