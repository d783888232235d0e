package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Where the results lie, from the root of the repository, and the page that shows them.
const (
	resultsFile = "testdata/matrix/results.json"
	pageFile    = "docs/install.md"
)

// Delimiters of the table on the page.
const (
	tableBegin = "<!-- versions: made by make matrix, not by hand -->\n"
	tableEnd   = "<!-- end of versions -->\n"
)

// Run is what has become of the tests on one version of Kubernetes.
type Run struct {
	Kubernetes string `json:"kubernetes"`
	Revision   string `json:"revision"` // of the repository
	Date       string `json:"date"`
	Areas      []Area `json:"areas"`
}

// Area is the part of it that one area has.
type Area struct {
	Name   string `json:"name"`
	Passed int    `json:"passed"`
	// Others are the tests that have not passed.
	Others []Result `json:"others,omitempty"`
}

// Result is what has become of a test.
type Result struct {
	Test    string `json:"test,omitempty"`
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
}

// inAreas puts results together.
func inAreas(tests []named, results map[named]Result) []Area {
	var all []Area
	for _, t := range tests {
		i := slices.IndexFunc(all, func(a Area) bool { return a.Name == t.area })
		if i < 0 {
			i = len(all)
			all = append(all, Area{Name: t.area})
		}
		result := results[t]
		if result.Outcome == passed {
			all[i].Passed++
			continue
		}
		result.Test = t.name
		all[i].Others = append(all[i].Others, result)
	}
	return all
}

// failed reports whether a test has failed.
func (r Run) failed() bool {
	return slices.ContainsFunc(r.Areas, func(a Area) bool {
		return slices.ContainsFunc(a.Others, func(o Result) bool { return o.Outcome == failed })
	})
}

// readRuns returns the results that are kept.
func readRuns(root string) ([]Run, error) {
	text, err := os.ReadFile(filepath.Join(root, resultsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var runs []Run
	if err := json.Unmarshal(text, &runs); err != nil {
		return nil, fmt.Errorf("%s: %w", resultsFile, err)
	}
	return runs, nil
}

// publish keeps a run in the place of the last one of its version, and writes the table of
// the page from all that are kept. What ran on a version that is no longer there is left out.
func publish(root string, all []string, run Run) error {
	kept, err := readRuns(root)
	if err != nil {
		return err
	}
	var runs []Run
	for _, version := range all {
		i := slices.IndexFunc(kept, func(r Run) bool { return r.Kubernetes == version })
		switch {
		case version == run.Kubernetes:
			runs = append(runs, run)
		case i >= 0:
			runs = append(runs, kept[i])
		}
	}
	page, err := shown(root, all, runs)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(runs); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, resultsFile), text.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, pageFile), page, 0o644)
}

// shown is the page with the table of runs.
func shown(root string, all []string, runs []Run) ([]byte, error) {
	page, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		return nil, err
	}
	head, rest, begins := bytes.Cut(page, []byte(tableBegin))
	_, tail, ends := bytes.Cut(rest, []byte(tableEnd))
	if !begins || !ends {
		return nil, fmt.Errorf("%s has no place for the table\nit is between the lines %q and %q", pageFile, tableBegin, tableEnd)
	}
	return slices.Concat(head, []byte(tableBegin), []byte(section(all, runs)), []byte(tableEnd), tail), nil
}
