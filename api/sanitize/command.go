package sanitize

import (
	"regexp"
	"strings"
)

var (
	// anywhere matches commands that a runner obeys at any position of a line:
	// ##[group] of GitHub Actions and Azure Pipelines, ##vso[ of the latter,
	// ##teamcity[.
	anywhere = regexp.MustCompile(`##[A-Za-z]*\[`)
	// atStart matches commands that GitHub Actions obeys at the beginning of a
	// line, after blanks. The colours are ours; a runner that strips them first
	// finds the command.
	atStart = regexp.MustCompile(`(?m)^((?:\x1b\[[0-9;]*m|[^\S\n]|[\p{Z}])*):(:)`)
)

// Command reports whether a CI runner that reads the text in a log would
// execute a part of it.
func Command(text string) bool {
	return anywhere.MatchString(text) || atStart.MatchString(text)
}

// BreakCommands returns a text without commands to a CI runner: one of their
// characters is written as an escape that Go, JSON and YAML have in common. It
// is for texts that are sanitized in all other respects.
func BreakCommands(text string) string {
	if strings.Contains(text, "::") {
		text = atStart.ReplaceAllString(text, `${1}\u003a${2}`)
	}
	return breakAnywhere(text)
}

func breakAnywhere(text string) string {
	if !strings.Contains(text, "##") {
		return text
	}
	return anywhere.ReplaceAllStringFunc(text, func(found string) string { return `#\u0023` + found[2:] })
}
