package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
	v1 "github.com/nodepools/nodepools/api/v1"
)

// A Problem is one reason for which a file tree is refused.
//
// Its texts are safe to log, to put into a status and to print on a terminal:
// they are bounded, and unprintable characters in them are escaped.
type Problem struct {
	// File is slash-separated and relative to the root of the tree.
	File string
	// Line and Column of the field at fault, or of the nearest enclosing field
	// when it is missing. Both count from 1, columns in characters; both are 0
	// when the problem is with the file as a whole.
	Line, Column int
	// Pool is the name of the pool, empty where it is not known.
	Pool string
	// Message says what is wrong, in one line that begins in lower case.
	Message string
	// Hint says what to do about it; may be empty.
	Hint string
	// Omitted is 0 for a problem. Otherwise this entry ends a truncated list, and
	// Omitted is how many problems it leaves out.
	Omitted int
}

// String returns file:line: message.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// A Warning is about a setting of a pool that is valid, and may not be
// intended. Its texts are as safe as those of a [Problem].
type Warning struct {
	// File is slash-separated and relative to the root of the tree.
	File string
	// Line and Column of the field, both counted from 1.
	Line, Column int
	// Pool is the name of the pool.
	Pool string
	// Message says what follows from the setting, in one line that begins in lower case;
	// with ordinary names it has less than 100 characters.
	Message string
	// Docs is the section that says more, as docs/pools.md#budgets.
	Docs string
	// Acknowledge are the entries of [v1.AcknowledgeSelfJoinAnnotation] that end the warning,
	// with spaces between them; empty where there are none.
	Acknowledge string
}

// Hint returns where to read on, and what acknowledges the warning.
func (w Warning) Hint() string {
	if w.Acknowledge == "" {
		return "see " + w.Docs
	}
	return "see " + w.Docs + "; to acknowledge: " + w.Acknowledge
}

// String returns file:line: warning: message, and the hint in a second line.
func (w Warning) String() string {
	return fmt.Sprintf("%s:%d: warning: %s\n    %s", w.File, w.Line, w.Message, w.Hint())
}

// warning returns a warning of a field of a pool.
func (d *document) warning(pool *v1.NodePool, path, message, section, acknowledge string) Warning {
	at := d.position(locate(d.root, path))
	return Warning{
		File: at.file, Line: at.line, Column: at.column, Pool: printable(pool.Name, maxValue),
		Message: printable("pool "+quoted(pool.Name)+": "+message, maxText),
		Docs:    "docs/pools.md#" + section, Acknowledge: printable(acknowledge, maxText),
	}
}

// Problems are all reasons for which a file tree is refused, sorted by file and line.
type Problems []Problem

// WriteText writes each problem and, indented, what to do about it.
func (p Problems) WriteText(w io.Writer) {
	for _, problem := range p {
		fmt.Fprintln(w, problem)
		if problem.Hint != "" {
			fmt.Fprintln(w, "    "+problem.Hint)
		}
	}
}

// Count returns how many problems there are, including omitted ones.
func (p Problems) Count() int {
	count := 0
	for _, problem := range p {
		count += max(1, problem.Omitted)
	}
	return count
}

// Error returns one problem per line, without the hints.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// In returns the problems as an error that names where they are and how many, and shows
// them as a list of their own: it is an [*InvalidError].
func (p Problems) In(where string) error { return &InvalidError{Where: where, Problems: p} }

// InvalidError says that pools are not valid. It wraps its [Problems].
type InvalidError struct {
	// Where the pools are, such as the path of a folder.
	Where    string
	Problems Problems
}

func (e *InvalidError) Error() string {
	if count := e.Problems.Count(); count != 1 {
		return fmt.Sprintf("%d problems in %s", count, e.Where)
	}
	return "1 problem in " + e.Where
}

// Unwrap returns the [Problems].
func (e *InvalidError) Unwrap() error { return e.Problems }

// report collects problems, and is the one place that sanitizes their texts.
type report struct {
	// problems are the first that were found, and count is how many there are in total.
	problems Problems
	count    int
}

// full reports whether further problems are only counted.
func (r *report) full() bool { return len(r.problems) == maxProblems }

func (r *report) add(problem Problem) {
	r.count += max(1, problem.Omitted)
	if r.full() {
		return
	}
	problem.File = printable(problem.File, maxFileName)
	problem.Pool = printable(problem.Pool, maxValue)
	problem.Message = printable(problem.Message, maxText)
	problem.Hint = printable(problem.Hint, maxText)
	r.problems = append(r.problems, problem)
}

// sorted returns the problems in the order in which a reader meets them.
func (r *report) sorted() Problems {
	slices.SortFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(
			strings.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			strings.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(r.problems)
}

// quoted returns a user's value for a message: in quotes, bounded, escaped.
func quoted(value string) string { return sanitize.Quote(sanitize.ClipRunes(value, maxValue+1)) }

// printable bounds a text in characters, apart from an ellipsis, and sanitizes it.
func printable(text string, most int) string { return sanitize.Line(sanitize.ClipRunes(text, most+1)) }
