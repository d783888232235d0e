package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Report is all that one run has measured, and what one has to know to judge it.
type Report struct {
	Taken   time.Time `json:"taken"`
	Machine Machine   `json:"machine"`
	// Program is the version of nodepools that was measured, with its commit.
	Program string `json:"program"`
	// Kubernetes is the version of the control plane, such as "v1.37.1".
	Kubernetes string `json:"kubernetes"`
	// Nodes and Pools are what the rows are about that do not name a number.
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

// thisMachine describes the one that the program runs on.
func thisMachine() Machine {
	return Machine{
		Cores: runtime.NumCPU(), MemoryMiB: systemMemory("/proc/meminfo"),
		OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version(),
	}
}

// systemMemory reads the MiB of a Linux machine; 0 elsewhere.
func systemMemory(meminfo string) int {
	data, err := os.ReadFile(meminfo)
	if err != nil {
		return 0
	}
	return int(kibibytes(data, "MemTotal") / 1024)
}

// kibibytes reads a line such as "MemTotal:  16384 kB", as files of Linux in
// /proc have it; 0 where there is none.
func kibibytes(proc []byte, name string) int64 {
	for line := range strings.Lines(string(proc)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == name+":" && fields[2] == "kB" {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

// check refuses what cannot be shown, before any of it is written.
func (r Report) check() error {
	if len(r.Figures) == 0 {
		return errors.New("report: nothing was measured")
	}
	var problems []error
	for _, f := range r.Figures {
		if err := f.check(); err != nil {
			problems = append(problems, fmt.Errorf("figure %q of row %q: %w", f.Name, f.Row, err))
		}
	}
	return errors.Join(problems...)
}

func (f Figure) check() error {
	numbers := []float64{f.Value}
	if f.Baseline != nil {
		numbers = append(numbers, f.Baseline.Value)
		if f.Baseline.Name == "" {
			return errors.New("its baseline has no name")
		}
	}
	if f.Target != nil {
		numbers = append(numbers, f.Target.AtMost)
	}
	for _, n := range numbers {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return fmt.Errorf("%v is no number that was measured", n)
		}
	}
	if f.Row == "" || f.Name == "" {
		return errors.New("it has no name, or stands in no row")
	}
	return nil
}

// rows are the figures in the order of the report, those of one row together.
func (r Report) rows() [][]Figure {
	var rows [][]Figure
	place := map[string]int{}
	for _, f := range r.Figures {
		at, known := place[f.Row]
		if !known {
			at = len(rows)
			place[f.Row] = at
			rows = append(rows, nil)
		}
		rows[at] = append(rows[at], f)
	}
	return rows
}

// encode writes the report as JSON, one field a line, so that git can show what a
// new run has changed.
func (r Report) encode() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	if err := to.Encode(r); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return out.Bytes(), nil
}

// decodeReport reads what encode has written.
func decodeReport(data []byte) (Report, error) {
	var r Report
	from := json.NewDecoder(bytes.NewReader(data))
	from.DisallowUnknownFields()
	if err := from.Decode(&r); err != nil {
		return Report{}, fmt.Errorf("report: %w", err)
	}
	return r, r.check()
}

// circumstances say where and of what the figures are, in one line.
func (r Report) circumstances() string {
	machine := fmt.Sprintf("%s cores", number(float64(r.Machine.Cores)))
	if r.Machine.MemoryMiB > 0 {
		machine += fmt.Sprintf(", %s GiB", number(math.Round(float64(r.Machine.MemoryMiB)/1024)))
	}
	return fmt.Sprintf("%s, %s/%s, %s, Kubernetes %s, nodepools %s, %s",
		machine, r.Machine.OS, r.Machine.Arch, r.Machine.Go, r.Kubernetes, r.Program, r.Taken.UTC().Format(time.DateOnly))
}

// size says how much there was to do.
func (r Report) size() string {
	return fmt.Sprintf("%s nodes, %s pools", number(float64(r.Nodes)), number(float64(r.Pools)))
}
