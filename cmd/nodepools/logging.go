package main

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nodepools/nodepools/api/sanitize"
)

// logLevels are those of --log-level. The libraries tell more with each further
// level; 5 is where a pass that finds nothing to do begins to be told.
var logLevels = map[string]slog.Level{"debug": -5, "info": slog.LevelInfo, "error": slog.LevelError}

var logFormats = []string{"text", "json"}

// newLogger writes one line per event.
func newLogger(w io.Writer, level, format string) logr.Logger {
	options := &slog.HandlerOptions{Level: logLevels[level], ReplaceAttr: plainAttribute}
	handler := slog.Handler(slog.NewTextHandler(lineWriter{w, sanitize.Text}, options))
	if format == "json" {
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
		return slog.String(attribute.Key, plainText(value))
	case error:
		return slog.String(attribute.Key, plainText(value.Error()))
	}
	return attribute
}

// plainLevel writes the levels as --log-level names them, where slog would
// write INFO and DEBUG+3.
func plainLevel(groups []string, attribute slog.Attr) slog.Attr {
	level, isLevel := attribute.Value.Any().(slog.Level)
	if len(groups) > 0 || attribute.Key != slog.LevelKey || !isLevel {
		return attribute
	}
	name := "debug"
	switch {
	case level >= slog.LevelError:
		name = "error"
	case level >= slog.LevelInfo:
		name = "info"
	}
	return slog.String(slog.LevelKey, name)
}

// useLogger makes every library log to the one logger.
func useLogger(logger logr.Logger) {
	log.SetLogger(logger)
	klog.SetLoggerWithOptions(logger, klog.ContextualLogger(true))
}

// checkLogging refuses a level or a format that there is not.
func checkLogging(level, format string) error {
	if _, known := logLevels[level]; !known {
		return usagef("--log-level %q is not known: must be debug, info or error", level)
	}
	if !slices.Contains(logFormats, format) {
		return usagef("--log-format %q is not known: must be %s", format, strings.Join(logFormats, " or "))
	}
	return nil
}
