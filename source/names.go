package source

import (
	"io/fs"
	"path"
	"strings"
	"unicode"

	"github.com/nodepools/nodepools/api/sanitize"
)

// maxQuoted and maxName bound a name in an error, and one in a revision.
const (
	maxQuoted = 120
	maxName   = 255
)

// Quote puts a name, which may come from a repository, into an error: bounded,
// and with everything escaped that is not plainly printable.
func Quote(name string) string { return sanitize.Quote(sanitize.Clip(name, maxQuoted)) }

// Subject is the name of what an error is about, bounded and on one line.
func Subject(name string) string { return sanitize.Clip(sanitize.Line(name), maxQuoted) }

// ValidPath reports whether a name is a path in the sense of [fs.ValidPath] that
// every file system here would give back, and that could neither forge a log line
// nor turn the text around it.
func ValidPath(name string) bool {
	if !fs.ValidPath(name) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	})
}

// ValidName reports whether a name that a repository gave may be part of a revision,
// which goes into annotations, status, events and logs.
func ValidName(name string) bool {
	return len(name) <= maxName && ValidPath(name) && sanitize.Line(name) == name
}

// CleanPath takes "./dir", "dir/" and "dir" for the same folder, and "" and "." for
// the root. Others read "./dir" as a folder that is not there, and deleted everything.
//
// Errors: ErrInvalid for a path that is absolute or leads out of the repository.
func CleanPath(raw string) (string, error) {
	clean := path.Clean("./" + raw)
	switch {
	case strings.HasPrefix(raw, "/"):
		return "", NewError(ErrInvalid, "path", Quote(raw)+" is absolute").
			WithHint("write it from the root of the repository, without a leading slash")
	case clean == "..", strings.HasPrefix(clean, "../"):
		return "", NewError(ErrInvalid, "path", Quote(raw)+" leads out of the repository")
	case !ValidPath(clean):
		return "", NewError(ErrInvalid, "path", Quote(raw)+" holds a character that does not belong there")
	}
	return clean, nil
}
