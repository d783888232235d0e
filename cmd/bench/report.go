package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/prometheus/procfs"
)

// Figure is one thing that was measured. Machines differ and have moods: a baseline was
// measured in the same run, and the ratio counts.
type Figure struct {
	// Row of the table, such as "converge".
	Row string `json:"row"`
	// Name says what was measured.
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Baseline is what the value is compared with; nil where it stands alone.
	Baseline *Baseline `json:"baseline,omitempty"`
	// Target that the project has set itself; nil for a figure that only informs.
	Target *Target `json:"target,omitempty"`
}

// Baseline is the same thing measured of something else, in the figure's unit.
type Baseline struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Target bounds a figure: its ratio where it has a baseline, else its value.
type Target struct {
	AtMost float64 `json:"atMost"`
}

// Report is all that one run has measured, and where.
type Report struct {
	Taken   time.Time `json:"taken"`
	Machine Machine   `json:"machine"`
	// Program is the version of nodepools, with its commit.
	Program string `json:"program"`
	// Kubernetes is the version of the control plane.
	Kubernetes string `json:"kubernetes"`
	// Nodes and Pools are those of the rows that do not name a number.
	Nodes   int      `json:"nodes"`
	Pools   int      `json:"pools"`
	Figures []Figure `json:"figures"`
}

// Machine is what matters of the machine, without naming it.
type Machine struct {
	Cores int `json:"cores"`
	// MemoryMiB is 0 where the system does not report it.
	MemoryMiB int    `json:"memoryMiB,omitempty"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	Go        string `json:"go"`
}

func thisMachine() Machine {
	m := Machine{Cores: runtime.NumCPU(), OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version()}
	if fs, err := procfs.NewDefaultFS(); err == nil { // other systems have none
		if info, err := fs.Meminfo(); err == nil && info.MemTotal != nil {
			m.MemoryMiB = int(*info.MemTotal / 1024)
		}
	}
	return m
}

// judged is the value that counts: the ratio to the baseline where there is one. A multiple
// of nothing is infinite, unless the value is nothing, too.
func (f Figure) judged() float64 {
	switch {
	case f.Baseline == nil:
		return f.Value
	case f.Value == 0 && f.Baseline.Value == 0:
		return 0
	}
	return f.Value / f.Baseline.Value
}

// missed reports whether the figure has a target and does not reach it.
func (f Figure) missed() bool { return f.Target != nil && f.judged() > f.Target.AtMost }

// check refuses a figure that cannot be shown.
func (f Figure) check() error {
	numbers := []float64{f.Value}
	if f.Baseline != nil {
		numbers = append(numbers, f.Baseline.Value)
	}
	if f.Target != nil {
		numbers = append(numbers, f.Target.AtMost)
	}
	for _, n := range numbers {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return fmt.Errorf("figure %q of row %q: %v is no measured number", f.Name, f.Row, n)
		}
	}
	return nil
}

// encode writes the report as JSON, one field a line.
func (r Report) encode() ([]byte, error) {
	if len(r.Figures) == 0 {
		return nil, errors.New("report: nothing was measured")
	}
	for _, f := range r.Figures {
		if err := f.check(); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	err := to.Encode(r)
	return out.Bytes(), err
}

// Where the results of the last run lie, from the root of the repository. The chart and the
// table of the page follow from the results alone.
const (
	resultsFile = "cmd/bench/results.json"
	chartFile   = "cmd/bench/chart.svg"
	pageFile    = "docs/performance.md"

	figuresBegin = "<!-- figures: made by make bench, not by hand -->\n"
	figuresEnd   = "<!-- end of figures -->\n"
)

// publish writes the results, the chart and the figures of the page into the repository at
// root.
func publish(root string, r Report) error {
	results, err := r.encode()
	if err != nil {
		return err
	}
	files, err := shown(root, r)
	if err != nil {
		return err
	}
	files[resultsFile] = results
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(root, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// shown is what follows from a report, by file name.
func shown(root string, r Report) (map[string][]byte, error) {
	page, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		return nil, err
	}
	before, rest, begins := bytes.Cut(page, []byte(figuresBegin))
	_, after, ends := bytes.Cut(rest, []byte(figuresEnd))
	if !begins || !ends {
		return nil, fmt.Errorf("%s has no place for figures\nit is between the lines %q and %q", pageFile, figuresBegin, figuresEnd)
	}
	return map[string][]byte{
		chartFile: []byte(r.chart()),
		pageFile: fmt.Appendf(nil, "%s%s\n![%s](../%s)\n\n%s\n%s%s",
			before, figuresBegin, cell(r.title()+". "+r.balance()), chartFile, r.table(), figuresEnd, after),
	}, nil
}
