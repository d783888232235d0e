package main

import (
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/api/wrap"
)

var update = flag.Bool("update", false, "write the golden files anew, and what follows from the results of the last run")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// madeUp is a report of figures that nobody has measured, of every kind that there
// is.
func madeUp() Report {
	beside := func(name string, value float64) *Baseline { return &Baseline{name, value} }
	atMost := func(n float64) *Target { return &Target{n} }
	return Report{
		Taken:   time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Machine: Machine{Cores: 2, MemoryMiB: 24103, OS: "linux", Arch: "amd64", Go: "go1.26.0"},
		Program: "v0.0.0-example", Kubernetes: "v1.37.1", Nodes: 5000, Pools: 100,
		Figures: []Figure{
			{"converge", "push to the last of 5,000 nodes right", 6.125, "s", beside("bare client, same applies", 5.5), atMost(1.15)},
			{"converge", "the same, against a script", 6.125, "s", beside("kubectl label + taint per pool", 41.25), atMost(0.2)},
			{"converge", "writes per changed node", 1.0002, "writes", nil, atMost(1)},
			{"steady", "writes", 0, "writes", nil, atMost(0)},
			{"steady", "requests", 12, "requests", beside("a controller that asks for nothing", 0), nil},
			{"join", "above a bare informer, p50 of 200", 4.2, "ms", nil, atMost(5)},
			{"join", "above a bare informer, p99", 15.004, "ms", nil, atMost(15)},
			{"join", "from the answer to its creation, p50", 9.5, "ms", nil, nil},
			{"join", "from the answer to its creation, p99", 19, "ms", nil, nil},
			{"memory", "peak of all of the above, 5,000 nodes", 81.25, "MiB", nil, atMost(90)},
			{"growth", "peak memory, 5,000 nodes", 70, "MiB", nil, atMost(90)},
			{"growth", "peak memory, 15,000 nodes", 212, "MiB", nil, atMost(200)},
			{"growth", "memory per node, 5,000 to 15,000", 14.2, "KiB", beside("1,000 to 5,000", 12.25), atMost(1.2)},
			{"converge", "processor time", 1234567, "ms", nil, nil},
		},
	}
}

func TestReport(t *testing.T) {
	r := madeUp()
	for name, got := range map[string]string{"table.txt": r.table(), "section.md": r.section(), "chart.svg": r.chart()} {
		t.Run(name, func(t *testing.T) { golden(t, name, got) })
	}
	data, err := r.encode()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "results.json", string(data))
	back, err := decodeReport(data)
	if diff := cmp.Diff(r, back); err != nil || diff != "" {
		t.Errorf("read what was written: %v\n%s", err, diff)
	}
}

func TestReportRefusesWhatCannotBeShown(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		figure Figure
	}{
		"not a number":     {"nothing was divided by nothing", Figure{Row: "a", Name: "b", Value: math.NaN()}},
		"endless":          {"something was divided by nothing", Figure{Row: "a", Name: "b", Value: math.Inf(1)}},
		"endless baseline": {"a ratio of it would be 0, and reach every target", Figure{Row: "a", Name: "b", Baseline: &Baseline{"c", math.Inf(1)}}},
		"endless target":   {"nothing would miss it", Figure{Row: "a", Name: "b", Target: &Target{math.NaN()}}},
		"no name":          {"nobody knows what it is", Figure{Row: "a"}},
		"no row":           {"it stands nowhere", Figure{Name: "b"}},
		"nameless":         {"compared with what", Figure{Row: "a", Name: "b", Baseline: &Baseline{Value: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := madeUp()
			r.Figures = append(r.Figures, c.figure)
			if _, err := r.encode(); err == nil {
				t.Errorf("%s: it was written", c.reason)
			}
		})
	}
	if _, err := (Report{}).encode(); err == nil {
		t.Error("a report of nothing was written")
	}
}

func TestMissed(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		figure Figure
		want   bool
	}{
		"no target":           {"it only informs", Figure{Value: 9}, false},
		"at the target":       {"at most that", Figure{Value: 1, Target: &Target{1}}, false},
		"above":               {"the value counts", Figure{Value: 1.01, Target: &Target{1}}, true},
		"ratio":               {"the ratio counts, not the value", Figure{Value: 9, Baseline: &Baseline{"b", 9}, Target: &Target{1}}, false},
		"ratio above":         {"the ratio counts, not the value", Figure{Value: 0.9, Baseline: &Baseline{"b", 0.5}, Target: &Target{1}}, true},
		"nothing for nothing": {"as little as the baseline", Figure{Baseline: &Baseline{"b", 0}, Target: &Target{1}}, false},
		"some for nothing":    {"no multiple of nothing is something", Figure{Value: 1, Baseline: &Baseline{"b", 0}, Target: &Target{1}}, true},
		"nothing at all":      {"0 writes, at most 0", Figure{Target: &Target{0}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.figure.Missed(); got != c.want {
				t.Errorf("%s: missed is %v", c.reason, got)
			}
		})
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[float64]string{
		0: "0", 1: "1", 1.0002: "1", 1.005: "1", 6.125: "6.12", 0.148: "0.148", 0.1: "0.1", 14.25: "14.2", 99.94: "99.9", 99.96: "100",
		123.4: "123", 1234.5: "1,234", 5000: "5,000", 1234567: "1,234,567", -0.25: "-0.25", -1234: "-1,234", 0.000012: "1.2e-05",
		9.999: "10", 0.9999: "1",
	} {
		if got := number(n); got != want {
			t.Errorf("number(%v) is %s, want %s", n, got, want)
		}
	}
}

// Names may be of any length, the table is not.
func TestTableIsNarrow(t *testing.T) {
	r := madeUp()
	long := strings.Repeat("word ", 40) + strings.Repeat("x", 200)
	r.Kubernetes, r.Program = long, long
	r.Figures = append(r.Figures, Figure{long, long, -1e18, long, &Baseline{long, 1e-9}, &Target{1e18}})
	for line := range strings.Lines(r.table()) {
		if width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > wrap.Width {
			t.Errorf("%d columns:\n%s", width, line)
		}
	}
	missed := slices.DeleteFunc(slices.Clone(r.Figures), func(f Figure) bool { return !f.Missed() })
	if got := strings.Count(r.table(), "MISSED"); got != len(missed) {
		t.Errorf("MISSED is there %d times, want %d", got, len(missed))
	}
}

func TestSystemMemory(t *testing.T) {
	if m := thisMachine(); m.Cores < 1 || m.OS == "" || m.Arch == "" || m.Go == "" {
		t.Errorf("this machine is %+v", m)
	}
	file := filepath.Join(t.TempDir(), "meminfo")
	if got := systemMemory(file); got != 0 {
		t.Errorf("a system that does not tell has %d MiB", got)
	}
	if err := os.WriteFile(file, []byte("MemTotal:       16384 kB\nMemFree: 1024 kB\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := systemMemory(file); got != 16 {
		t.Errorf("got %d MiB, want 16", got)
	}
}

const root = "../.."

// TestPublished holds the chart and the figures of the page to the results of the last
// run, and both to nothing while there was none. With -update they follow.
func TestPublished(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, resultsFile))
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(root, chartFile)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("there is a chart of no results (%v)", err)
		}
		if _, figures, _, err := splitFigures(page); err == nil && len(figures) > 0 {
			t.Errorf("the page has figures of no results:\n%s", figures)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := decodeReport(data)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := publish(root, r); err != nil {
			t.Fatal(err)
		}
	}
	wantPublished(t, root, r)
}

func wantPublished(t *testing.T, root string, r Report) {
	t.Helper()
	files, err := shown(root, r)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not what %s says; run this test with -update (-want +got):\n%s", name, resultsFile, diff)
		}
	}
}

func TestPublish(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(resultsFile, "{}")
	write(pageFile, "# No place\n")
	if err := publish(root, madeUp()); err == nil {
		t.Error("a page without a place for figures was taken")
	}
	if data, err := os.ReadFile(filepath.Join(root, resultsFile)); err != nil || string(data) != "{}" {
		t.Errorf("something was written: %s, %v", data, err)
	}
	const before, after = "# Before\n\n" + figuresBegin, figuresEnd + "\nAfter\n"
	write(pageFile, before+"old figures\n"+after)
	for range 2 { // the second changes nothing
		if err := publish(root, madeUp()); err != nil {
			t.Fatal(err)
		}
		wantPublished(t, root, madeUp())
	}
	page, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(page); !strings.HasPrefix(got, before) || !strings.HasSuffix(got, after) || strings.Contains(got, "old figures") {
		t.Errorf("the page is\n%s", got)
	}
}
