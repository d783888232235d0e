package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Where the results of the last run lie, from the root of the repository. The chart
// and the table of the page are made of the first alone; nobody writes them by hand.
const (
	resultsFile = "cmd/bench/results.json"
	chartFile   = "cmd/bench/chart.svg"
	pageFile    = "docs/performance.md"
)

// Delimiters of the figures on the page.
const (
	figuresBegin = "<!-- figures: made by make bench, not by hand -->\n"
	figuresEnd   = "<!-- end of figures -->\n"
)

// publish writes the report into the repository at root: the results, the chart and
// the figures of the page. Nothing is written of a report that cannot be shown.
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
	chart := r.chart()
	if chart == "" {
		return nil, errors.New("report: it has no figure that the chart shows")
	}
	page, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		return nil, err
	}
	before, _, after, err := splitFigures(page)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		chartFile: []byte(chart),
		pageFile:  slices.Concat(before, []byte(r.section()), after),
	}, nil
}

// splitFigures splits a page around its figures; before and after keep the
// delimiters.
func splitFigures(page []byte) (before, figures, after []byte, err error) {
	head, rest, begins := bytes.Cut(page, []byte(figuresBegin))
	figures, tail, ends := bytes.Cut(rest, []byte(figuresEnd))
	if !begins || !ends {
		return nil, nil, nil, fmt.Errorf("%s has no place for figures\nit is between the lines %q and %q",
			pageFile, strings.TrimSpace(figuresBegin), strings.TrimSpace(figuresEnd))
	}
	return slices.Concat(head, []byte(figuresBegin)), figures, slices.Concat([]byte(figuresEnd), tail), nil
}
