// Package report describes what is found in pool files, for people and for CI.
// Start with [Accepted] and [Refused]; [Report.Document] returns a report as a server of
// Git repositories reads it, or as JSON in a form that stays.
package report

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/render"
)

// The version and the kind of a report as JSON. Fields are added within a version;
// none is taken away or changes its meaning.
const (
	APIVersion = "validate.nodes.lailin.xyz/v1"
	Kind       = "Validation"
)

// Report is all that is found in the pool files at a path.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Path       string `json:"path"`
	// Valid is true where no problem is an error.
	Valid bool `json:"valid"`
	// Pools is how many there are, 0 where not all are valid.
	Pools int `json:"pools"`
	// Problems are sorted by file and line; the list is there when it is empty.
	Problems []Finding `json:"problems"`
}

// Finding is a problem or a warning.
type Finding struct {
	Severity Severity `json:"severity"`
	Rule     RuleID   `json:"rule"`
	File     string   `json:"file"`
	// Line and Column count from 1, columns in characters; both are 0 where it is
	// about the file as a whole.
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Pool    string `json:"pool,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Severity says whether a finding makes the files invalid.
type Severity string

// The severities of findings. SARIF and GitHub have the same names.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Accepted returns the report of valid pools: their number, and what is warned of.
func Accepted(path string, pools int, warnings []render.Warning) *Report {
	r := &Report{APIVersion: APIVersion, Kind: Kind, Path: path, Valid: true, Pools: pools, Problems: []Finding{}}
	for _, w := range warnings {
		rule := RolloutRule
		if w.Acknowledge != "" {
			rule = SelfJoinableRule
		}
		r.Problems = append(r.Problems, Finding{
			Severity: Warning, Rule: rule, File: filepath.ToSlash(w.File), Line: w.Line, Column: w.Column,
			Pool: w.Pool, Message: w.Message, Hint: w.Hint(),
		})
	}
	return r
}

// Refused returns the report of a path from which no pools are taken. Where err wraps
// [render.Problems], each is a finding. Any other error is one finding, with a hint
// of what to do about it, which may be empty.
func Refused(path string, err error, hint string) *Report {
	r := &Report{APIVersion: APIVersion, Kind: Kind, Path: path, Problems: []Finding{}}
	problems := (render.Problems)(nil)
	if !errors.As(err, &problems) {
		r.Problems = append(r.Problems, Finding{
			Severity: Error, Rule: PathRule, File: filepath.ToSlash(path),
			Message: sanitize.Message(strings.TrimPrefix(err.Error(), path+": ")), Hint: sanitize.Message(hint),
		})
	}
	for _, p := range problems {
		r.Problems = append(r.Problems, Finding{
			Severity: Error, Rule: ruleOf(p), File: filepath.ToSlash(p.File), Line: p.Line, Column: p.Column,
			Pool: p.Pool, Message: p.Message, Hint: p.Hint,
		})
	}
	return r
}

// WithFiles returns a report that has other names for its files, such as those that
// the server of the repository knows them by.
func (r *Report) WithFiles(name func(file string) string) *Report {
	renamed := *r
	renamed.Problems = make([]Finding, len(r.Problems))
	for i, f := range r.Problems {
		f.File = name(f.File)
		renamed.Problems[i] = f
	}
	return &renamed
}

// text is what is wrong, and in a second line what to do about it.
func (f Finding) text() string {
	if f.Hint == "" {
		return f.Message
	}
	return f.Message + "\n" + f.Hint
}
