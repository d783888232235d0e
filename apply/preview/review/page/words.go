package page

import (
	"fmt"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
)

const (
	// longestText bounds a written text, in bytes. An annotation may have 256 KiB.
	longestText = 2000
	// mostNames is how many names one list has.
	mostNames = 100
	// mostLines is how many lines of one manifest are written.
	mostLines = 400
)

// shown returns a text without invisible characters, of bounded length.
func shown(text string) string {
	more := len(text) - longestText
	if more <= 0 {
		return review.Visible(text)
	}
	begin := sanitize.Begin(text, longestText)
	return fmt.Sprintf("%s… (%d bytes more)", review.Visible(begin), len(text)-len(begin))
}

// list joins names, compactly.
func list(names []string) string {
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = review.Word(name)
	}
	compact := review.Compact(words)
	text := strings.Join(compact[:min(len(compact), mostNames)], ", ")
	if more := len(compact) - mostNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// kind returns the CSS class of a line.
func kind(line review.Line) string {
	switch line.Sign {
	case review.Added:
		return "in"
	case review.Removed:
		return "out"
	case review.Changed:
		return "ch"
	}
	return "same"
}

// sign returns the sign of a line; its minus is as wide as its plus.
func sign(line review.Line) string {
	if line.Sign == review.Removed {
		return "−"
	}
	return string(line.Sign)
}

func cutLines(lines []review.Line) []review.Line { return lines[:min(len(lines), mostLines)] }

func leftLines(lines []review.Line) int { return max(0, len(lines)-mostLines) }

// tone returns the CSS class of an action.
func tone(action plan.Action) string {
	switch action {
	case plan.Create:
		return "in"
	case plan.Delete:
		return "out"
	}
	return "ch"
}
