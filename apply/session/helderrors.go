package session

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
	// maxHeld bounds the errors that are held back.
	maxHeld = 100
)

// HeldErrors keeps the log readable when everything fails for one reason. While it
// is not known whether the API server is away, errors are held back; when it is
// known, they are dropped, as one line has said all. Of others with the same message the
// first few are logged, and the rest are counted. The zero value is ready to use.
type HeldErrors struct {
	mu      sync.Mutex
	inDoubt func() (doubt, known bool)
	held    []heldError
	alike   map[string]*alikeErrors
}

type heldError struct {
	next   slog.Handler
	ctx    context.Context
	record slog.Record
}

// alikeErrors are those with the same message in one period.
type alikeErrors struct {
	count int
	last  heldError
}

// Logger returns a logger whose errors are held back.
func (h *HeldErrors) Logger(of logr.Logger) logr.Logger {
	return logr.FromSlogHandler(holding{logr.ToSlogHandler(of), h})
}

// judge sets what reports whether the API server is in doubt, and whether that is
// known to be the reason.
func (h *HeldErrors) judge(inDoubt func() (doubt, known bool)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inDoubt = inDoubt
}

// drop drops the errors that are held back.
func (h *HeldErrors) drop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = nil
}

// settled logs the errors that were held back: they have another reason.
func (h *HeldErrors) settled() {
	h.mu.Lock()
	held := h.held
	h.held = nil
	h.mu.Unlock()
	for _, e := range held {
		_ = h.sum(e) // nobody is left to report it to
	}
}

func (h *HeldErrors) handle(e heldError) error {
	h.mu.Lock()
	doubt, known := false, false
	if h.inDoubt != nil {
		doubt, known = h.inDoubt()
	}
	if doubt && !known && len(h.held) < maxHeld {
		h.held = append(h.held, e)
	}
	h.mu.Unlock()
	if doubt {
		return nil
	}
	return h.sum(e)
}

// sum logs an error, or counts it where there were some like it.
func (h *HeldErrors) sum(e heldError) error {
	h.mu.Lock()
	message := e.record.Message
	alike, known := h.alike[message]
	if !known {
		if h.alike == nil {
			h.alike = map[string]*alikeErrors{}
		}
		alike = &alikeErrors{}
		h.alike[message] = alike
		time.AfterFunc(alikePeriod, func() { h.logOthers(message) })
	}
	alike.count++
	alike.last = e
	log := alike.count <= maxAlike
	h.mu.Unlock()
	if !log {
		return nil
	}
	return e.next.Handle(e.ctx, e.record)
}

// logOthers ends a period: the last error stands for those that were not logged.
func (h *HeldErrors) logOthers(message string) {
	h.mu.Lock()
	alike := h.alike[message]
	delete(h.alike, message)
	h.mu.Unlock()
	if others := alike.count - maxAlike; others > 0 {
		record := alike.last.record.Clone()
		record.AddAttrs(slog.Int("alike", others))
		_ = alike.last.next.Handle(alike.last.ctx, record) // nobody is left to report it to
	}
}

// holding is the handler by which errors are held back.
type holding struct {
	slog.Handler
	errors *HeldErrors
}

// Handle implements [slog.Handler].
func (h holding) Handle(ctx context.Context, record slog.Record) error {
	if record.Level < slog.LevelError {
		return h.Handler.Handle(ctx, record)
	}
	return h.errors.handle(heldError{h.Handler, context.WithoutCancel(ctx), record.Clone()})
}

// WithAttrs implements [slog.Handler].
func (h holding) WithAttrs(attributes []slog.Attr) slog.Handler {
	return holding{h.Handler.WithAttrs(attributes), h.errors}
}

// WithGroup implements [slog.Handler].
func (h holding) WithGroup(name string) slog.Handler {
	return holding{h.Handler.WithGroup(name), h.errors}
}
