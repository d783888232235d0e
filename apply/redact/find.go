package redact

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

const (
	// maxDepth is how far text within text is looked into: JSON in base64 in YAML.
	maxDepth = 5
	// maxWork bounds what is looked at for one value, in bytes. The annotations of a
	// node have 256 KiB; what goes on beyond this is built to.
	maxWork = 8 << 20
)

// Finder finds secrets. The zero value is ready; it remembers its answers, as the
// same values stand on many nodes, and is not for several goroutines.
type Finder struct{ known map[[2]string]bool }

// Secret reports whether the value that has a name is a secret, or has one in it.
// The name is the key of a label, annotation or taint, and may be empty.
func (f *Finder) Secret(name, value string) bool {
	name, _, _ = strings.Cut(name, ":") // the effect of a taint
	if len(value) > maxRemembered {
		return secret(name, value)
	}
	at := [2]string{name, value}
	found, known := f.known[at]
	if !known {
		found = secret(name, value)
		if f.known == nil {
			f.known = map[[2]string]bool{}
		}
		f.known[at] = found
	}
	return found
}

// maxRemembered bounds the values that are remembered, in bytes.
const maxRemembered = 1024

func secret(name, value string) bool {
	if none(name, value) {
		return false
	}
	return secretName(name) || new(search).text(value, 0)
}

// Parts are the secrets that a value has in it, as far as they can be told from the
// rest: what has to be masked where a part of the value is mentioned by itself. The
// value as a whole is one where its name says so.
func Parts(name, value string) []string {
	s := &search{all: true}
	name, _, _ = strings.Cut(name, ":")
	if !s.text(value, 0) && secretName(name) {
		s.found = append(s.found, value)
	}
	slices.Sort(s.found)
	return slices.Compact(s.found)
}

// search is the search of one value.
type search struct {
	// all searches on after a find, and collects them.
	all   bool
	found []string
	work  int
}

// maxFound bounds how many secrets of one value are collected.
const maxFound = 100

// find notes a secret, and reports whether the search is over.
func (s *search) find(secrets ...string) bool {
	if s.all && len(s.found) < maxFound {
		s.found = append(s.found, secrets...)
		return len(s.found) >= maxFound
	}
	return true
}

// text reports whether there is a secret in a text, or in what it encodes.
func (s *search) text(text string, depth int) bool {
	if s.work += len(text); s.work > maxWork {
		return true // nobody can say what is in it
	}
	if s.shaped(text) || s.assigned(text) || s.flagged(text) {
		return true
	}
	if depth == maxDepth {
		return false
	}
	if plain(text) {
		return s.decoded(text, depth)
	}
	return s.structure(text, depth) || s.unescaped(text, depth) || s.decoded(text, depth)
}

// plain reports whether a text is one word, as labels are.
func plain(text string) bool {
	return !strings.ContainsAny(text, "{[:=%\\\"' \t\r\n<")
}

// shaped reports whether there is a secret of a known shape.
func (s *search) shaped(text string) bool {
	lower := strings.ToLower(text)
	for _, group := range [][]shape{shapes, rules()} {
		for i := range group {
			for _, match := range group[i].matches(text, lower, s.all) {
				if s.find(match...) {
					return true
				}
			}
		}
	}
	return false
}

// assignment is a name in password: topsecret, token=abc or "apiKey":["abc"], up to
// where the value begins.
var assignment = regexp.MustCompile(`([A-Za-z0-9_./-]+)[\\"']*[ \t]*(?::=|=>|:|=)[ \t]*`)

// assigned reports whether a text assigns something to the name of a secret: as a
// line of a file, a pair of a list, or a field of what cannot be parsed.
func (s *search) assigned(text string) bool {
	if !strings.ContainsAny(text, ":=") {
		return false
	}
	names, line := 0, 0 // the line begins here
	for at := 0; ; {
		found := assignment.FindStringSubmatchIndex(text[at:])
		if found == nil {
			return false
		}
		if newline := strings.LastIndexByte(text[at:at+found[2]], '\n'); newline >= 0 {
			line = at + newline + 1
		}
		name, rest := text[at+found[2]:at+found[3]], text[at+found[1]:]
		indented := indent(text[line : at+found[2]])
		at += found[1]
		if !secretName(name) {
			continue
		}
		if names++; names > maxNames {
			return true
		}
		if value := valueOf(rest[:min(len(rest), maxBeginning)], indented); !none(name, value) && s.find(value) {
			return true
		}
	}
}

// maxNames bounds how many names of secrets that have none are looked at in one
// text. Nobody writes so many, but who wants the search to take long.
const maxNames = 500

// maxBeginning is how much of a value is looked at to say whether it is one.
const maxBeginning = 512

var (
	// opening is what stands before the first text in a value.
	opening = regexp.MustCompile(`^(?:[\s\\"'{\[|>+-]|!!?[a-z]+\s|&[A-Za-z0-9]+\s|#[^\n]*\n)*`)
	// before is a value that is masked already, with what may follow it: the effect of
	// a taint, the end of a text.
	before = regexp.MustCompile(`^[\s\\"']*\*{3}(?:$|["',;}\])]| \((?:before|after)\)|:(?:Prefer)?No[SE][a-z]+)`)
	// variable is a value that another program fills in.
	variable = regexp.MustCompile(`^[\s\\"']*(\$\{[A-Z0-9_]+\}|\$\([A-Z0-9_]+\)|\{\{[^{}]*\}\})(?:[\s\\"',}\]]|$)`)
	// field is the name of a field of an object, with what stands before its value.
	field = regexp.MustCompile(`^[\w./-]+[\\"']*[ \t]*:(?:[ \t\\"']+|$)`)
)

// valueOf is the beginning of the value that begins a text: enough of it to say
// whether it is one. The line that it is of is indented by a number of blanks; a
// value may go on in the next one, where that is indented more.
func valueOf(rest string, indented int) string {
	line, following, _ := strings.Cut(rest, "\n")
	if variable := variable.FindStringSubmatch(line); variable != nil {
		return variable[1]
	}
	if before.MatchString(line) {
		return Masked
	}
	bare := strings.TrimSpace(opening.ReplaceAllString(line, ""))
	if bare == "" || strings.HasPrefix(bare, "#") {
		following = strings.TrimLeft(following, "\r\n")
		if indent(following) <= indented && !strings.HasPrefix(strings.TrimSpace(following), "- ") {
			return ""
		}
		bare, _, _ = strings.Cut(opening.ReplaceAllString(following, ""), "\n")
	}
	bare = field.ReplaceAllString(bare, "") // one of an object that has no secret is none
	if end := strings.IndexAny(bare, `,"'}]`); end >= 0 {
		bare = bare[:end]
	}
	return bare
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// flag is an option of a command line, with what ends its name.
var flag = regexp.MustCompile(`(?:^|[\s"'=,\[(])--?([A-Za-z][A-Za-z0-9_.-]*)(=|["'\\,\s]+)`)

// flagged reports whether an option of a command line has a secret.
func (s *search) flagged(text string) bool {
	if !strings.Contains(text, "-") {
		return false
	}
	for at, names := 0, 0; ; {
		found := flag.FindStringSubmatchIndex(text[at:])
		if found == nil {
			return false
		}
		name, rest := text[at+found[2]:at+found[3]], text[at+found[1]:]
		at += found[3] // what separates this one from the next begins it
		if !secretName(name) {
			continue
		}
		value := strings.TrimLeft(rest[:min(len(rest), maxBeginning)], " \t\"'\\")
		if end := strings.IndexAny(value, " \t\r\n\"'\\,]"); end >= 0 {
			value = value[:end]
		}
		if names++; names > maxNames || !strings.HasPrefix(value, "-") && !none(name, value) && s.find(value) {
			return true
		}
	}
}

// unescaped looks at a text without the escapes of a URL, where it has some; in a
// query a plus sign is a space.
func (s *search) unescaped(text string, depth int) bool {
	if !strings.ContainsAny(text, "%+") {
		return false
	}
	plain := escapeOfURL.ReplaceAllStringFunc(text, func(escape string) string {
		if character, err := url.PathUnescape(escape); err == nil {
			return character
		}
		return escape
	})
	if plain != text && s.text(plain, depth+1) {
		return true
	}
	words := strings.ReplaceAll(plain, "+", " ")
	return words != plain && s.text(words, depth+1)
}

var (
	escapeOfURL = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
	inBase64    = regexp.MustCompile(`[A-Za-z0-9+/_-]{16,}={0,2}`)
	// lineOfBase64 are the ends of lines in base64, as programs wrap it.
	lineOfBase64 = regexp.MustCompile(`([A-Za-z0-9+/_-]{32,})[ \t]*\r?\n[ \t]*`)
)

// decoded looks at what stands in base64 in a text.
func (s *search) decoded(text string, depth int) bool {
	for _, found := range inBase64.FindAllString(lineOfBase64.ReplaceAllString(text, "$1"), -1) {
		if inside := decoded(found); inside != "" && s.text(inside, depth+1) {
			return true
		}
	}
	return false
}
