package logging

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

const (
	// alikePeriod is the time in which errors with the same message are summed up,
	// from the one after maxAlike.
	alikePeriod = 10 * time.Second
	maxAlike    = 3
)

// Summed returns a logger that keeps the log readable when everything fails for one reason:
// of errors with the same message the first few are logged, and the rest are counted.
func Summed(of logr.Logger) logr.Logger {
	return logr.FromSlogHandler(summing{logr.ToSlogHandler(of), &alikeErrors{alike: map[string]*alikeError{}}})
}

// alikeErrors are the errors of one period each, by message.
type alikeErrors struct {
	mu    sync.Mutex
	alike map[string]*alikeError
}

// alikeError is how often there was an error, and the last one.
type alikeError struct {
	count  int
	next   slog.Handler
	record slog.Record
}

// count reports whether an error is one of the first of its period.
func (a *alikeErrors) count(next slog.Handler, record slog.Record) (first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.alike[record.Message]
	if known == nil {
		known = &alikeError{}
		a.alike[record.Message] = known
		time.AfterFunc(alikePeriod, func() { a.logOthers(record.Message) })
	}
	known.count++
	known.next, known.record = next, record
	return known.count <= maxAlike
}

// logOthers ends a period: the last error stands for those that were not logged.
func (a *alikeErrors) logOthers(message string) {
	a.mu.Lock()
	known := a.alike[message]
	delete(a.alike, message)
	a.mu.Unlock()
	if others := known.count - maxAlike; others > 0 {
		known.record.AddAttrs(slog.Int("alike", others))
		_ = known.next.Handle(context.Background(), known.record) // nobody is left to report it to
	}
}

type summing struct {
	slog.Handler
	errors *alikeErrors
}

// Handle implements [slog.Handler].
func (s summing) Handle(ctx context.Context, record slog.Record) error {
	if record.Level >= slog.LevelError && !s.errors.count(s.Handler, record.Clone()) {
		return nil
	}
	return s.Handler.Handle(ctx, record)
}

// WithAttrs implements [slog.Handler].
func (s summing) WithAttrs(attributes []slog.Attr) slog.Handler {
	return summing{s.Handler.WithAttrs(attributes), s.errors}
}

// WithGroup implements [slog.Handler].
func (s summing) WithGroup(name string) slog.Handler {
	return summing{s.Handler.WithGroup(name), s.errors}
}
