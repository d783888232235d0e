package render

import (
	"bytes"
	"fmt"
	"regexp"
	"unicode/utf8"
)

// checkText returns a file's text without its byte order mark, or the problem
// for which it is not valid text.
//
// YAML takes more characters for the end of a line than editors do. They are
// refused, so that what counts as a line is the same for the parser, for the
// lines in problems, and for the reader; and so that no document can begin in
// the middle of what is shown as one line.
func checkText(data []byte) ([]byte, *Problem) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if problem := checkContent(data); problem != nil {
		return nil, problem
	}
	line, column := 1, 1
	for i := 0; i < len(data); {
		c := data[i]
		switch {
		case c == '\n':
			line, column = line+1, 0
		case c >= ' ' && c < utf8.RuneSelf-1, c == '\t', c == '\r' && i+1 < len(data) && data[i+1] == '\n':
		case c == '\r':
			return nil, &Problem{Line: line, Column: column, Message: "a line ends with a carriage return alone", Hint: "save the file with LF or CRLF line ends"}
		default:
			r, size := utf8.DecodeRune(data[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				return nil, &Problem{Line: line, Column: column, Message: "the file is not UTF-8 text", Hint: "save it as UTF-8"}
			case !allowed(r):
				return nil, &Problem{Line: line, Column: column, Message: fmt.Sprintf("the file has the control character U+%04X", r), Hint: `remove it, or write it as an escape in double quotes, such as "\u2028"`}
			}
			i += size - 1
		}
		i, column = i+1, column+1
	}
	return data, nil
}

// conflictMarker is a line that git writes into a file whose changes it cannot merge. At the
// beginning of a line, no pool file has one.
var conflictMarker = regexp.MustCompile(`(?m)^(<{7} |\|{7} |={7}\r?$|>{7} )`)

// checkContent returns the problem of a file that is something else than somebody has
// written. A parser would complain about what is only a consequence of that.
func checkContent(data []byte) *Problem {
	if bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/")) {
		return &Problem{Line: 1, Column: 1, Message: "the file is a pointer of Git LFS, and has no pool", Hint: "keep pool files out of Git LFS: git lfs untrack <pattern>, then git add --renormalize <file>"}
	}
	// A file begins with a character of ASCII, which has a zero byte beside it in UTF-16.
	if len(data) > 1 && (data[0] == 0) != (data[1] == 0) || bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return &Problem{Line: 1, Column: 1, Message: "the file is not UTF-8 text, but UTF-16", Hint: "save it as UTF-8"}
	}
	if at := conflictMarker.FindIndex(data); at != nil {
		line := 1 + bytes.Count(data[:at[0]], []byte("\n"))
		return &Problem{Line: line, Column: 1, Message: "the file has markers of a merge conflict", Hint: "resolve the conflict: keep what is meant, and remove the lines that begin with <<<<<<<, |||||||, ======= or >>>>>>>"}
	}
	return nil
}

// allowed reports whether a character beyond ASCII, or a control character, may
// occur in a file.
func allowed(r rune) bool {
	switch {
	case r < 0xA0, r == '\u2028', r == '\u2029', r == '\uFEFF', r == '\uFFFE', r == '\uFFFF':
		return false
	}
	return true
}

// A documentText is one document of a file.
type documentText struct {
	data []byte
	// line is the number of its first line in the file, counted from 1.
	line int
}

// split cuts a file into documents, before each line that begins with ---.
// In YAML no other line begins that way, not even within a quoted or a block
// text. Each document is then parsed separately, so that a mistake in one hides
// none in the next, and anchors do not reach from one into another.
func split(data []byte) []documentText {
	var texts []documentText
	start, startLine := 0, 1
	// A marker belongs to the lines before it when these are only comments and
	// directives (%YAML 1.2).
	preface := true
	line := 1
	for at := 0; at < len(data); line++ {
		end := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		content := bytes.TrimSpace(data[at:end])
		switch {
		case isMarker(data[at:end]):
			if !preface {
				texts = append(texts, documentText{data: data[start:at], line: startLine})
				start, startLine = at, line
			}
			preface = false
		case len(content) > 0 && content[0] != '#' && data[at] != '%':
			preface = false
		}
		at = end
	}
	return append(texts, documentText{data: data[start:], line: startLine})
}

func isMarker(line []byte) bool {
	rest, found := bytes.CutPrefix(line, []byte("---"))
	return found && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}
