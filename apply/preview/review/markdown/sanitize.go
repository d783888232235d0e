package markdown

import (
	"html"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
)

// Bounds of a written text, in bytes, without the marks around it. The summary
// has at most eight texts, and stays far below the limit of a comment.
const (
	maxName     = 400 // the key of a label has 317 at the most
	maxSentence = 1000
	maxLine     = 1000 // of a diff
)

// visible writes a text on one line, as [sanitize.Line] does. A text that is
// longer than the limit is cut, with the number of omitted bytes.
func visible(text string, limit int) string {
	line := sanitize.Line(sanitize.Begin(text, limit+1))
	if len(text) <= limit && len(line) <= limit {
		return line
	}
	// An escape is longer than its character, so less of the text fits.
	most := sort.Search(limit, func(n int) bool { return len(sanitize.Line(sanitize.Begin(text, n+1))) > limit })
	begin := sanitize.Begin(text, most)
	return sanitize.Line(begin) + "… (" + count(len(text)-len(begin), "more byte", "more bytes") + ")"
}

// code writes a name or a value as a code span.
func code(name string) string { return span(shown(name)) }

// htmlCode writes a name as code in HTML, as the summary of a fold is.
func htmlCode(name string) string { return "<code>" + html.EscapeString(shown(name)) + "</code>" }

// shown returns a name as it is shown: in quotes where its end would be invisible.
func shown(name string) string {
	if name == "" || name != strings.Trim(name, " ") {
		name = `"` + name + `"`
	}
	return visible(name, maxName)
}

// span puts marks around a text that is visible already.
func span(text string) string {
	marks := strings.Repeat("`", longestRun(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " " // renderers strip these
	}
	return marks + text + marks
}

// fence puts lines into a fence that none of them can close.
func fence(lines []string) string {
	longest := 2
	for _, line := range lines {
		longest = max(longest, longestRun(line))
	}
	marks := strings.Repeat("`", longest+1)
	return marks + "diff\n" + strings.Join(lines, "\n") + "\n" + marks
}

// longestRun returns the length of the longest run of backticks.
func longestRun(text string) int {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

var (
	// token matches text between spaces, or between quotes.
	token = regexp.MustCompile(`[(]?"(?:[^"\\]|\\.)*"[.,:;)]*|[^ ]+`)
	// framed matches a token with the punctuation around it.
	framed = regexp.MustCompile(`^([(]?)(.*?)([.,:;)]*)$`)
	// word matches a token without a meaning to GitHub or GitLab: a commit of
	// digits and letters, a ticket (ABC-1), an address or a path has one.
	word   = regexp.MustCompile(`^(…|[A-Za-z]+(['-][A-Za-z]+)*)$`)
	number = regexp.MustCompile(`^[0-9]{1,3}(,[0-9]{3}|[0-9]{1,3})?%?$`)
	// linked matches words that are linked all the same: a commit, and the
	// beginning of an address.
	linked = regexp.MustCompile(`^(?i)([0-9a-f]{6,}|www)$`)
	bullet = regexp.MustCompile(`^[0-9]+[.)]`)
)

// sentence sanitizes a sentence that contains names, whose positions are not known.
func sentence(text string) string {
	tokens := commands(token.FindAllString(visible(text, maxSentence), -1))
	for i, t := range tokens {
		tokens[i] = escape(t)
		if i == 0 && bullet.MatchString(t) {
			tokens[i] = span(t) // a list would begin
		}
	}
	return strings.Join(tokens, " ")
}

// commands makes one token of a command that a sentence suggests, so that it
// can be copied: everything from kubectl or nodepools to a semicolon or the end.
func commands(tokens []string) []string {
	begin := slices.Index(tokens, "kubectl")
	for i, token := range tokens[:max(0, len(tokens)-1)] {
		if next := tokens[i+1]; token == "nodepools" && (next == "approve" || next == "resume") {
			begin = i
			break
		}
	}
	if begin < 0 || begin+1 == len(tokens) {
		return tokens // it is only mentioned
	}
	end := begin
	for end+1 < len(tokens) && !strings.HasSuffix(tokens[end], ";") {
		end++
	}
	return slices.Replace(tokens, begin, end+1, strings.Join(tokens[begin:end+1], " "))
}

// escape writes a word of a sentence, as a code span unless it is plain.
func escape(token string) string {
	parts := framed.FindStringSubmatch(token)
	if parts == nil || parts[2] == "" {
		return span(token)
	}
	if core := parts[2]; !(word.MatchString(core) || number.MatchString(core)) || linked.MatchString(core) {
		return parts[1] + span(core) + parts[3]
	}
	return token
}

// capital capitalizes the first letter of a sanitized sentence.
func capital(sentence string) string {
	if sentence == "" {
		return ""
	}
	return strings.ToUpper(sentence[:1]) + sentence[1:]
}

// count returns a number with its noun.
func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + more
}

// thousands writes 3210 as 3,210.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
