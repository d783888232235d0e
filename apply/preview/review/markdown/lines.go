package markdown

import (
	"strings"

	"github.com/nodepools/nodepools/apply/preview/review"
)

// column is the width of a line of names.
const column = 100

func diffLines(lines []review.Line) []string {
	written := make([]string, 0, len(lines))
	for _, line := range lines {
		written = append(written, diffLine(line.Sign, line.Text))
	}
	return written
}

// diffLine writes a line of a diff, with a sign that GitHub and GitLab colour.
func diffLine(sign rune, text string) string {
	text = visible(text, maxLine)
	switch sign {
	case '+', '-', ' ', '!':
		return string(sign) + " " + text
	case '~':
		return "! " + text
	case '…':
		return strings.TrimRight("@@ … "+text, " ") + " @@"
	default:
		return "  " + text
	}
}

// nameLines returns names as lines of a diff.
func nameLines(sign rune, names []string) []string {
	lines := wrapped(names)
	for i, line := range lines {
		lines[i] = string(sign) + " " + line
	}
	return lines
}

// wrapped writes names compactly, in lines that are not much wider than a page,
// and that end in a comma where more follow. They are sanitized.
func wrapped(names []string) []string {
	seen := make([]string, 0, len(names))
	for _, name := range names {
		seen = append(seen, shown(name))
	}
	var lines []string
	line := ""
	for piece := range strings.SplitAfterSeq(strings.Join(review.Compact(seen), ", "), ",") {
		if line != "" && len(line)+len(piece) > column {
			lines = append(lines, line)
			line = ""
		}
		if line == "" {
			piece = strings.TrimPrefix(piece, " ")
		}
		line += piece
	}
	if len(names) > 0 {
		lines = append(lines, line)
	}
	return lines
}
