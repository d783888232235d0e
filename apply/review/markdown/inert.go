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

// How much is written of one text, in bytes of what is written, before the marks
// around it. The summary has eight texts at the most, and stays far below what a
// comment holds.
const (
	maxName     = 400 // the key of a label has 317 at the most
	maxSentence = 1000
	maxLine     = 1000 // of a diff
)

// visible writes a text on one line, as [sanitize.Line] does. What is longer than the
// limit is cut, and how much is said.
func visible(text string, limit int) string {
	line := sanitize.Line(sanitize.Begin(text, limit+1))
	if len(text) <= limit && len(line) <= limit {
		return line
	}
	// An escape is longer than what it stands for, so less of the text has room.
	most := sort.Search(limit, func(n int) bool { return len(sanitize.Line(sanitize.Begin(text, n+1))) > limit })
	begin := sanitize.Begin(text, most)
	return sanitize.Line(begin) + "… (" + count(len(text)-len(begin), "more byte", "more bytes") + ")"
}

// code writes a name or a value as a code span.
func code(name string) string { return span(shown(name)) }

// htmlCode writes a name as code in HTML, as the summary of a fold is.
func htmlCode(name string) string { return "<code>" + html.EscapeString(shown(name)) + "</code>" }

// shown is a name as it is shown: in quotes where its end would not be seen.
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
		text = " " + text + " " // the reader takes these off
	}
	return marks + text + marks
}

// fence puts lines between marks that none of them can close.
func fence(lines []string) string {
	longest := 2
	for _, line := range lines {
		longest = max(longest, longestRun(line))
	}
	marks := strings.Repeat("`", longest+1)
	return marks + "diff\n" + strings.Join(lines, "\n") + "\n" + marks
}

// longestRun is the length of the longest run of backticks.
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
	// token is what stands between spaces, or between quotes.
	token = regexp.MustCompile(`[(]?"(?:[^"\\]|\\.)*"[.,:;)]*|[^ ]+`)
	// framed is a token with the punctuation around it.
	framed = regexp.MustCompile(`^([(]?)(.*?)([.,:;)]*)$`)
	// word is a token that means nothing to anybody but a reader: a commit of digits
	// and letters, a ticket (ABC-1), an address or a path is none.
	word   = regexp.MustCompile(`^(…|[A-Za-z]+(['-][A-Za-z]+)*)$`)
	number = regexp.MustCompile(`^[0-9]{1,3}(,[0-9]{3}|[0-9]{1,3})?%?$`)
	// linked are words that are linked all the same: a commit, and what an address
	// begins with.
	linked = regexp.MustCompile(`^(?i)([0-9a-f]{6,}|www)$`)
	bullet = regexp.MustCompile(`^[0-9]+[.)]`)
)

// sentence writes a sentence that has names in it, without a way to tell which words
// these are.
func sentence(text string) string {
	tokens := commands(token.FindAllString(visible(text, maxSentence), -1))
	for i, t := range tokens {
		tokens[i] = inert(t)
		if i == 0 && bullet.MatchString(t) {
			tokens[i] = span(t) // a list would begin
		}
	}
	return strings.Join(tokens, " ")
}

// commands makes one token of a command that a sentence tells to run, so that it can
// be copied: all from kubectl to a semicolon or the end.
func commands(tokens []string) []string {
	begin := slices.Index(tokens, "kubectl")
	if begin < 0 || begin+1 == len(tokens) {
		return tokens // it is spoken of
	}
	end := begin
	for end+1 < len(tokens) && !strings.HasSuffix(tokens[end], ";") {
		end++
	}
	return slices.Replace(tokens, begin, end+1, strings.Join(tokens[begin:end+1], " "))
}

func inert(token string) string {
	parts := framed.FindStringSubmatch(token)
	if parts == nil || parts[2] == "" {
		return span(token)
	}
	if core := parts[2]; !(word.MatchString(core) || number.MatchString(core)) || linked.MatchString(core) {
		return parts[1] + span(core) + parts[3]
	}
	return token
}

// capital writes a sentence that begins with a large letter. What it is given is
// inert, and what it returns is.
func capital(sentence string) string {
	if sentence == "" {
		return ""
	}
	return strings.ToUpper(sentence[:1]) + sentence[1:]
}

// count says how many there are.
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
