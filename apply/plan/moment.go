package plan

import (
	"strings"
	"time"
)

// Moment is a time for readers and for programs.
type Moment struct {
	// Time and UTC are as RFC 3339 has it: in the zone of the pool's calendar, and in UTC.
	Time string `json:"time"`
	UTC  string `json:"utc"`
	// Text is what people read: "Sat 2026-11-28 02:00 CET (01:00 UTC)".
	Text string `json:"text"`
}

// MomentOf is a time in a zone; nil of the zero time.
func MomentOf(t time.Time, zone *time.Location) *Moment {
	if t.IsZero() {
		return nil
	}
	return &Moment{Time: t.In(zone).Format(time.RFC3339), UTC: t.UTC().Format(time.RFC3339), Text: DescribeTime(t, zone)}
}

// DescribeTime is a moment as people read it, by the clocks of a zone and in UTC: "Sat
// 2026-11-28 02:00 CET (01:00 UTC)". Seconds are there where they are not 0.
func DescribeTime(t time.Time, zone *time.Location) string {
	clock := "15:04"
	if t.Second() != 0 {
		clock = "15:04:05"
	}
	local, utc := t.In(zone), t.UTC()
	text := local.Format("Mon 2006-01-02 " + clock + " MST")
	if _, offset := local.Zone(); offset == 0 && strings.HasSuffix(text, " UTC") {
		return text
	}
	if local.Format(time.DateOnly) != utc.Format(time.DateOnly) {
		clock = time.DateOnly + " " + clock
	}
	return text + " (" + utc.Format(clock) + " UTC)"
}
