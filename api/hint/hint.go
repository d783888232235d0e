// Package hint gives errors a line that says what to do about them. Start with [Add];
// whoever prints an error asks [Of] for the line.
package hint

import "errors"

// Add returns an error with a hint. The text of the error stays as it is.
func Add(err error, hint string) error { return hinted{err, hint} }

// Of returns the hint of an error, or of the first error that it wraps and that has
// one; empty where none has. An error has a hint if it has a method Hint.
func Of(err error) string {
	var known interface{ Hint() string }
	if errors.As(err, &known) {
		return known.Hint()
	}
	return ""
}

type hinted struct {
	error
	hint string
}

func (h hinted) Hint() string  { return h.hint }
func (h hinted) Unwrap() error { return h.error }
