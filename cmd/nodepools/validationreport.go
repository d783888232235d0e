package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/nodepools/nodepools/render"
)

// The version and the kind of what validate writes as JSON. Fields are added
// within a version; none is taken away or changes its meaning.
const (
	validationAPIVersion = "validate.nodes.lailin.xyz/v1"
	validationKind       = "Validation"
)

// validationReport is all that validate has found. Its JSON form is documented in the
// help of the command, and stays.
type validationReport struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Path       string `json:"path"`
	// Valid is true where no problem is an error.
	Valid bool `json:"valid"`
	// Pools is how many there are, 0 where not all are valid.
	Pools int `json:"pools"`
	// Problems are sorted by file and line; the list is there when it is empty.
	Problems []finding `json:"problems"`
}

// finding is a problem or a warning.
type finding struct {
	Severity severity `json:"severity"`
	Rule     ruleID   `json:"rule"`
	File     string   `json:"file"`
	// Line and Column count from 1, columns in characters; both are 0 where it is
	// about the file as a whole.
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Pool    string `json:"pool,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

type severity string

const (
	severityError   severity = "error"
	severityWarning severity = "warning"
)

// validationOf takes together what was loaded, or why it could not be.
func validationOf(path string, files *poolFiles, err error) *validationReport {
	v := &validationReport{APIVersion: validationAPIVersion, Kind: validationKind, Path: path, Valid: err == nil, Problems: []finding{}}
	problems := (render.Problems)(nil)
	switch {
	case err == nil:
		v.Pools = len(files.definitions)
		for _, warning := range files.warnings() {
			v.Problems = append(v.Problems, finding{
				Severity: severityWarning, Rule: ruleSelfJoinable, File: filepath.ToSlash(warning.File), Line: warning.Line, Column: warning.Column,
				Pool: warning.Pool, Message: warning.Message,
			})
		}
	case errors.As(err, &problems):
		for _, problem := range problems {
			v.Problems = append(v.Problems, finding{
				Severity: severityError, Rule: ruleOf(problem), File: filepath.ToSlash(problem.File), Line: problem.Line, Column: problem.Column,
				Pool: problem.Pool, Message: problem.Message, Hint: problem.Hint,
			})
		}
	default:
		v.Problems = append(v.Problems, finding{
			Severity: severityError, Rule: rulePath, File: filepath.ToSlash(path),
			Message: plainText(strings.TrimPrefix(err.Error(), path+": ")), Hint: plainText(hintOf(err)),
		})
	}
	return v
}

// fromRepository names the files as the server of the repository does.
func (v *validationReport) fromRepository() *validationReport {
	there := *v
	there.Problems = make([]finding, len(v.Problems))
	for i, f := range v.Problems {
		f.File = fromRepositoryRoot(f.File)
		there.Problems[i] = f
	}
	return &there
}

// text is what is wrong, and in a second line what to do about it.
func (f finding) text() string {
	if f.Hint == "" {
		return f.Message
	}
	return f.Message + "\n" + f.Hint
}

// ruleID says what kind of a finding it is. It stays what it is, as servers know
// a finding again by it.
type ruleID string

const (
	rulePath         ruleID = "path"
	ruleFile         ruleID = "file"
	ruleDocument     ruleID = "document"
	rulePool         ruleID = "pool"
	ruleSelfJoinable ruleID = "self-joinable"
)

// rule is what there is to say of all findings of a kind.
type rule struct {
	id          ruleID
	severity    severity
	title, says string
}

var rules = []rule{
	{rulePath, severityError, "No pools could be read", "PATH as a whole: missing, without a pool, or unreadable"},
	{ruleFile, severityError, "File refused", "a file or folder as a whole: too large, a link, too many"},
	{ruleDocument, severityError, "Not a NodePool", "text that is no YAML, or no NodePool with a name"},
	{rulePool, severityError, "Invalid NodePool", "what a pool says, or how it fits with the others"},
	{ruleSelfJoinable, severityWarning, "Nodes can join the pool by themselves", "a label that a kubelet may set, or a pattern of node names"},
}

// ruleOf tells the kind of a problem by what it is about.
func ruleOf(p render.Problem) ruleID {
	switch {
	case p.Line == 0:
		return ruleFile
	case p.Pool == "":
		return ruleDocument
	default:
		return rulePool
	}
}

func ruleAt(id ruleID) (int, rule) {
	for i, r := range rules {
		if r.id == id {
			return i, r
		}
	}
	panic("no rule " + string(id)) // the rules stand above
}

// ruleList is the rules as a list in a help text.
func ruleList() string {
	var list strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&list, "  %-14s %s\n", r.id, r.says)
	}
	return list.String()
}
