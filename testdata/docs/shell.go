package docs

import (
	"regexp"
	"strings"
)

// endComment is a comment behind a command; what is quoted has no " #" in it here.
var endComment = regexp.MustCompile(`\s+#.*$`)

// Commands returns the commands of a block of shell, one for each line: without
// comments, and with continued lines joined by a blank. Other blocks have none.
func (b Block) Commands() []string {
	if b.Language != "sh" {
		return nil
	}
	var commands []string
	var begun string
	for line := range strings.Lines(b.Text) {
		line = strings.TrimSpace(endComment.ReplaceAllString(strings.TrimRight(line, "\n"), ""))
		if rest, continued := strings.CutSuffix(line, `\`); continued {
			begun += strings.TrimSpace(rest) + " "
			continue
		}
		if line = begun + line; line != "" && !strings.HasPrefix(line, "#") {
			commands = append(commands, line)
		}
		begun = ""
	}
	return commands
}
