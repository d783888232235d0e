package window

import (
	"archive/zip"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var stress = flag.Bool("stress", false, "compare with brute force in every zone that changes its offset, over two years")

// representative are zones whose clocks differ in how they change, for the short form.
var representative = []string{
	"Europe/Berlin", "Africa/Cairo", "America/Santiago", "Australia/Lord_Howe",
}

// schedules are those that go wrong where zones change their offset, and plain ones.
var schedules = []struct {
	schedule string
	duration time.Duration
}{
	{"0 2 * * 6", 4 * time.Hour},
	{"0 2 * * 0", time.Hour},
	{"30 2 * * *", time.Hour},
	{"30 2 * * *", 24 * time.Hour},
	{"0 12 * * 5", 20 * time.Hour},
	{"0 12 * * 6", 20 * time.Hour},
	{"0 12 * * 6", 48 * time.Hour},
	{"0 22 * * *", 6 * time.Hour},
	{"0 0 * * *", time.Minute},
	{"0 0 * * *", 24 * time.Hour},
	{"0 0 * * 0", 7 * 24 * time.Hour},
	{"0 12 * * *", 24 * time.Hour},
	{"15,45 1-3 * * *", 10 * time.Minute},
	{"15,45 1-3 * * *", 30 * time.Minute},
	{"*/10 * * * *", 5 * time.Minute},
	{"*/10 * * * *", 10 * time.Minute},
	{"*/7 * * * *", 7 * time.Minute},
	{"* * * * *", time.Minute},
	{"* * * * *", 31 * 24 * time.Hour},
	{"* * * * 1-5", time.Minute},
	{"* 1-23 * * *", 2 * time.Minute},
	{"0 * * * *", 59 * time.Minute},
	{"0 * * * *", 60 * time.Minute},
	{"30 23 * * *", 90 * time.Minute},
	{"59 1 * * *", 2 * time.Minute},
	{"0 3 * * 0", 3 * time.Hour},
	{"0 0 1 * *", 31 * 24 * time.Hour},
	{"0 0 31 * *", 24 * time.Hour},
	{"0 2 25-31 3,10 *", 5 * time.Hour},
	{"30 0 1 1,4,9 *", 30 * 24 * time.Hour},
	{"0 4 29 3 *", time.Hour},
	{"0 0,12 * 4,11 *", 13 * time.Hour},
	{"5/25 */6 * * *", 40 * time.Minute},
	{"0 2 * 3-11 0,6", 26 * time.Hour},
}

func TestEqualsBruteForce(t *testing.T) {
	zones, years := representative, 1
	if *stress {
		zones, years = zonesThatChange(t), 2
	}
	minutes := 0
	for i, name := range zones {
		zone, err := LoadZone(name)
		if err != nil {
			t.Fatal(err)
		}
		// The longest window that is open at the beginning has started by then.
		from := time.Date(2025, time.November, 29, 0, 0, 0, 0, time.UTC)
		begin := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
		to := begin.AddDate(years, 0, 0)
		o := observe(zone, from, to)
		for _, s := range schedules {
			starts := o.starts(t, s.schedule)
			if !*stress && i > 0 && len(starts) > 20_000 {
				continue // slow, and it is the same in every zone but for the hours around changes
			}
			equalsOracle(t, o, begin, starts, recurrence(t, s.schedule, name, s.duration))
			minutes += len(o.walls)
		}
	}
	t.Logf("%d zones, %d schedules, %d minutes compared", len(zones), len(schedules), minutes)
}

// equalsOracle compares starts, openings, and whether the window is open around every
// opening and every change of the offset.
func equalsOracle(t *testing.T, o *oracle, begin time.Time, starts []int, r *Recurrence) {
	t.Helper()
	first, _ := slices.BinarySearch(starts, int(begin.Sub(o.from)/time.Minute))
	at := begin.Add(-1)
	for i, start := range starts[first:] {
		if len(starts) > 20_000 && i%61 > 0 && !o.nearChange(start) {
			at = o.at(start)
			continue
		}
		if at = r.Next(at); !at.Equal(o.at(start)) {
			t.Fatalf("%s in %s starts at %v, want %v", r.schedule, r.zone, at.In(r.zone), o.at(start).In(r.zone))
		}
	}
	if at = r.Next(at); at.Before(o.at(len(o.walls))) {
		t.Fatalf("%s in %s starts at %v, want no more", r.schedule, r.zone, at.In(r.zone))
	}
	open := o.open(starts, r.duration)
	found := make([]bool, len(open))
	calendar := &Calendar{restricted: true, windows: []*Recurrence{r}}
	for at := begin; at.Before(o.at(len(open))); {
		start, ok := calendar.Next(at)
		if !ok {
			break
		}
		end := calendar.Until(start)
		if end.IsZero() {
			end = o.at(len(open))
		}
		for i := start.Sub(o.from) / time.Minute; i < end.Sub(o.from)/time.Minute && int(i) < len(found); i++ {
			found[i] = true
		}
		at = end
	}
	for i := int(begin.Sub(o.from) / time.Minute); i < len(open); i++ {
		if open[i] != found[i] {
			t.Fatalf("%s for %v in %s: %v is open: %t in the openings, want %t", r.schedule, r.duration, r.zone, o.at(i).In(r.zone), found[i], open[i])
		}
		if !o.telling(open, i) {
			continue
		}
		if got := calendar.Open(o.at(i)); got != open[i] {
			t.Fatalf("%s for %v in %s: %v is open: %t, want %t", r.schedule, r.duration, r.zone, o.at(i).In(r.zone), got, open[i])
		}
	}
}

// telling reports whether the minute is at the edge of an opening, or near a change of
// the offset; and of all others, one in some thousand.
func (o *oracle) telling(open []bool, i int) bool {
	return open[i] != open[i-1] && i%7 == 0 || i%4999 == 0 || o.nearChange(i)
}

// nearChange reports whether the offset changes within two hours of the minute.
func (o *oracle) nearChange(i int) bool {
	a, b := o.walls[max(i-120, 0)], o.walls[min(i+120, len(o.walls)-1)]
	shown := (int(b.hour)*60 + int(b.minute) - int(a.hour)*60 - int(a.minute) + 1440) % 1440
	return i >= 120 && i+120 < len(o.walls) && shown != 240
}

func recurrence(t testing.TB, schedule, zone string, duration time.Duration) *Recurrence {
	t.Helper()
	r, err := Rule{Schedule: schedule, TimeZone: zone, Duration: duration}.recurrence()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// zonesThatChange are the names of all zones that change their offset in 2026 or 2027, by
// the database that comes with Go; one of those whose clocks show the same.
func zonesThatChange(t *testing.T) []string {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	database, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = database.Close() }()
	var names []string
	zones, clocks := 0, map[string]bool{}
	for _, file := range database.File {
		zone, err := time.LoadLocation(file.Name)
		if err != nil || !changes(zone) {
			continue
		}
		zones++
		if shown := clock(zone); !clocks[shown] {
			clocks[shown] = true
			names = append(names, file.Name)
		}
	}
	t.Logf("%d zones change their offset, and have %d different clocks", zones, len(names))
	if zones < 100 || len(names) < 20 {
		t.Fatalf("only %d zones change their offset", zones)
	}
	return names
}

// clock is what a zone shows in all of the time that is compared: its offset in each
// half hour.
func clock(zone *time.Location) string {
	var shown strings.Builder
	before := -1
	for at := time.Date(2025, time.November, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2030; at = at.Add(30 * time.Minute) {
		if _, offset := at.In(zone).Zone(); offset != before {
			fmt.Fprintf(&shown, "%d:%d ", at.Unix(), offset)
			before = offset
		}
	}
	return shown.String()
}

func changes(zone *time.Location) bool {
	at := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	_, before := at.In(zone).Zone()
	for range 2 * 365 {
		at = at.AddDate(0, 0, 1)
		if _, offset := at.In(zone).Zone(); offset != before {
			return true
		}
	}
	return false
}
