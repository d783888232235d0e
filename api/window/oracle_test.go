package window

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// An oracle goes from minute to minute and reads the clock on the wall. It shares no
// code with the package.
type oracle struct {
	from    time.Time
	walls   []wall         // of each minute from then on
	skipped map[int][]wall // before the minute of this index
}

// A wall is what a clock shows.
type wall struct{ minute, hour, day, month, weekday uint8 }

func wallOf(t time.Time) wall {
	_, month, day := t.Date()
	hour, minute, _ := t.Clock()
	return wall{uint8(minute), uint8(hour), uint8(day), uint8(month), uint8(t.Weekday())}
}

func observe(zone *time.Location, from, to time.Time) *oracle {
	o := &oracle{from: from, skipped: map[int][]wall{}}
	_, before := from.Add(-time.Minute).In(zone).Zone()
	for t := from; t.Before(to); t = t.Add(time.Minute) {
		local := t.In(zone)
		_, offset := local.Zone()
		for gone := before; gone < offset; gone += 60 {
			o.skipped[len(o.walls)] = append(o.skipped[len(o.walls)], wallOf(t.Add(time.Duration(gone)*time.Second).UTC()))
		}
		before = offset
		o.walls = append(o.walls, wallOf(local))
	}
	return o
}

// starts are the indexes of the minutes at which a schedule starts.
func (o *oracle) starts(t *testing.T, schedule string) []int {
	matches := matcher(t, schedule)
	var found []int
	for i, w := range o.walls {
		if matches(w) || slices.ContainsFunc(o.skipped[i], matches) {
			found = append(found, i)
		}
	}
	return found
}

// open has for each minute whether a window is open. What has started before the first
// minute is not known.
func (o *oracle) open(starts []int, duration time.Duration) []bool {
	minutes := int(duration / time.Minute)
	open := make([]bool, len(o.walls))
	end := 0
	for _, start := range starts {
		for i := max(start, end); i < min(start+minutes, len(open)); i++ {
			open[i] = true
		}
		end = start + minutes
	}
	return open
}

func (o *oracle) at(i int) time.Time { return o.from.Add(time.Duration(i) * time.Minute) }

// matcher reads schedules of numbers.
func matcher(t *testing.T, schedule string) func(wall) bool {
	t.Helper()
	parts := strings.Split(schedule, " ")
	var sets [5][64]bool
	for i, bounds := range [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}} {
		for _, item := range strings.Split(parts[i], ",") {
			values, stepText, stepped := strings.Cut(item, "/")
			from, to, step := bounds[0], bounds[1], 1
			first, last, isRange := strings.Cut(values, "-")
			if stepped {
				step = atoi(t, stepText)
			}
			if values != "*" {
				from = atoi(t, first)
				if isRange {
					to = atoi(t, last)
				} else if !stepped {
					to = from
				}
			}
			for value := from; value <= to; value += step {
				sets[i][value] = true
			}
		}
	}
	return func(w wall) bool {
		return sets[0][w.minute] && sets[1][w.hour] && sets[2][w.day] && sets[3][w.month] && sets[4][w.weekday]
	}
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
