// Package logging makes the log of a process that runs for long: one line per event,
// sanitized and bounded, whatever a server said. Start with [New]; [Use] has every
// library log there.
package logging

import (
	"context"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nodepools/nodepools/api/sanitize"
)

// The levels of a log, from the one with most in it.
const (
	Debug = "debug"
	Info  = "info"
	Error = "error"
)

// levels are those of slog. The libraries log more with each further level; from 5
// on, a pass that finds nothing to do is logged.
var levels = map[string]slog.Level{Debug: -5, Info: slog.LevelInfo, Error: slog.LevelError}

// The formats of a log: key=value, and a JSON object for each line.
const (
	Text = "text"
	JSON = "json"
)

// Levels returns all levels, from the one with most in it.
func Levels() []string { return []string{Debug, Info, Error} }

// Formats returns all formats.
func Formats() []string { return []string{Text, JSON} }

// New returns a logger of a level, which writes one line per event.
func New(w io.Writer, level, format string) logr.Logger {
	options := &slog.HandlerOptions{Level: levels[level], ReplaceAttr: plainAttribute}
	handler := slog.Handler(slog.NewTextHandler(lineWriter{w, sanitize.Text}, options))
	if format == JSON {
		handler = slog.NewJSONHandler(lineWriter{w, sanitize.JSON}, options)
	}
	return logr.FromSlogHandler(ordinaryStop{handler})
}

// lineWriter sanitizes the lines of a log, for keys and for values of other types
// than texts. A handler writes each line at once.
type lineWriter struct {
	io.Writer
	safe func(string) string
}

func (w lineWriter) Write(line []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, w.safe(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}

// ordinaryStop leaves out what the manager takes for an error at each stop: that
// the lease is no longer held, when it has just given it back. Lost while it is
// at work, the lease is an error of another kind, which ends the process.
type ordinaryStop struct{ slog.Handler }

func (h ordinaryStop) Handle(ctx context.Context, record slog.Record) error {
	returned := false
	if record.Message == "error received after stop sequence was engaged" {
		record.Attrs(func(attribute slog.Attr) bool {
			returned = attribute.Value.String() == "leader election lost"
			return !returned
		})
	}
	if returned {
		return nil
	}
	return h.Handler.Handle(ctx, record)
}

func (h ordinaryStop) WithAttrs(attributes []slog.Attr) slog.Handler {
	return ordinaryStop{h.Handler.WithAttrs(attributes)}
}

func (h ordinaryStop) WithGroup(name string) slog.Handler {
	return ordinaryStop{h.Handler.WithGroup(name)}
}

// plainAttribute bounds and sanitizes every text: errors are in part what a server
// said, and JSON has room for most of it. Line breaks are written as escapes in
// either format.
func plainAttribute(groups []string, attribute slog.Attr) slog.Attr {
	switch value := attribute.Value.Any().(type) {
	case slog.Level:
		return plainLevel(groups, attribute)
	case string:
		return slog.String(attribute.Key, sanitize.Message(value))
	case error:
		return slog.String(attribute.Key, sanitize.Message(value.Error()))
	}
	return attribute
}

// plainLevel writes the levels by their names here, where slog would write INFO
// and DEBUG+3.
func plainLevel(groups []string, attribute slog.Attr) slog.Attr {
	level, isLevel := attribute.Value.Any().(slog.Level)
	if len(groups) > 0 || attribute.Key != slog.LevelKey || !isLevel {
		return attribute
	}
	name := Debug
	switch {
	case level >= slog.LevelError:
		name = Error
	case level >= slog.LevelInfo:
		name = Info
	}
	return slog.String(slog.LevelKey, name)
}

// Use makes every library log to the one logger.
func Use(logger logr.Logger) {
	log.SetLogger(logger)
	klog.SetLoggerWithOptions(logger, klog.ContextualLogger(true))
}
