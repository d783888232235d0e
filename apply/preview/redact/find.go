package redact

import (
	"net/url"
	"slices"
	"strings"
)

const (
	// maxDepth bounds the nesting that is searched: JSON in base64 in YAML.
	maxDepth = 5
	// maxWork bounds how much is searched for one value, in bytes. The annotations
	// of a node have 256 KiB; only a value that is crafted for it exceeds this.
	maxWork = 8 << 20
)

// Finder finds secrets. The zero value is ready to use. It caches results, as
// many nodes have the same values, and is not safe for concurrent use.
type Finder struct{ known map[[2]string]bool }

// Secret reports whether the value of a name is a secret, or contains one. The
// name is the key of a label, annotation or taint, and may be empty.
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

// maxRemembered bounds the size of a cached value, in bytes.
const maxRemembered = 1024

func secret(name, value string) bool {
	if none(name, value) {
		return false
	}
	return secretName(name) || new(search).text(value, 0)
}

// Parts returns the secrets in a value, as far as they can be separated from
// the rest: they must be masked where a part of the value is mentioned by
// itself. The whole value is one where its name is that of a secret.
func Parts(name, value string) []string {
	s := &search{all: true}
	name, _, _ = strings.Cut(name, ":")
	if !s.text(value, 0) && secretName(name) {
		s.found = append(s.found, value)
	}
	slices.Sort(s.found)
	return slices.Compact(s.found)
}

// search is the search for secrets in one value.
type search struct {
	// all continues after the first secret, and collects them.
	all   bool
	found []string
	work  int
}

// maxFound bounds how many secrets of one value are collected.
const maxFound = 100

// add collects secrets, and reports whether the search is over.
func (s *search) add(secrets ...string) bool {
	if s.all && len(s.found) < maxFound {
		s.found = append(s.found, secrets...)
		return len(s.found) >= maxFound
	}
	return true
}

// text reports whether there is a secret in a text, or in what it encodes.
func (s *search) text(text string, depth int) bool {
	if s.work += len(text); s.work > maxWork {
		return true // too nested or too large to decide
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
	for _, group := range [][]shape{shapes(), rules()} {
		for i := range group {
			for _, match := range group[i].matches(text, lower, s.all) {
				if s.add(match...) {
					return true
				}
			}
		}
	}
	return false
}

// assignment is a name in password: topsecret, token=abc or "apiKey":["abc"], up to
// where the value begins.
var assignment = compiled(`([A-Za-z0-9_./-]+)[\\"']*[ \t]*(?::=|=>|:|=)[ \t]*`)

// assigned reports whether a text assigns something to the name of a secret: as a
// line of a file, a pair of a list, or a field of what cannot be parsed.
func (s *search) assigned(text string) bool {
	if !strings.ContainsAny(text, ":=") {
		return false
	}
	names, line := 0, 0 // line is where the current line begins
	for at := 0; ; {
		found := assignment().FindStringSubmatchIndex(text[at:])
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
		if value := valueOf(rest[:min(len(rest), maxBeginning)], indented); !none(name, value) && s.add(value) {
			return true
		}
	}
}

// maxNames bounds how many names of secrets without a secret are checked in one
// text. Only a text that is crafted to make the search slow has more.
const maxNames = 500

// maxBeginning is how much of a value is read to decide whether it is a secret, in bytes.
const maxBeginning = 512

var (
	// opening matches what precedes the first text in a value.
	opening = compiled(`^(?:[\s\\"'{\[|>+-]|!!?[a-z]+\s|&[A-Za-z0-9]+\s|#[^\n]*\n)*`)
	// before matches a value that is masked already, with what may follow it: the
	// effect of a taint, the end of a text.
	before = compiled(`^[\s\\"']*\*{3}(?:$|["',;}\])]| \((?:before|after)\)|:(?:Prefer)?No[SE][a-z]+)`)
	// variable matches a placeholder that another program replaces.
	variable = compiled(`^[\s\\"']*(\$\{[A-Z0-9_]+\}|\$\([A-Z0-9_]+\)|\{\{[^{}]*\}\})(?:[\s\\"',}\]]|$)`)
	// field matches the name of a field of an object, up to its value.
	field = compiled(`^[\w./-]+[\\"']*[ \t]*:(?:[ \t\\"']+|$)`)
)

// valueOf returns the beginning of the value that begins a text: enough of it
// to decide whether it is a secret. Its line is indented by a number of blanks;
// a value may continue in the next line, where that is indented more.
func valueOf(rest string, indented int) string {
	line, following, _ := strings.Cut(rest, "\n")
	if variable := variable().FindStringSubmatch(line); variable != nil {
		return variable[1]
	}
	if before().MatchString(line) {
		return Masked
	}
	bare := strings.TrimSpace(opening().ReplaceAllString(line, ""))
	if bare == "" || strings.HasPrefix(bare, "#") {
		following = strings.TrimLeft(following, "\r\n")
		if indent(following) <= indented && !strings.HasPrefix(strings.TrimSpace(following), "- ") {
			return ""
		}
		bare, _, _ = strings.Cut(opening().ReplaceAllString(following, ""), "\n")
	}
	bare = field().ReplaceAllString(bare, "") // a field without a value is no secret
	if end := strings.IndexAny(bare, `,"'}]`); end >= 0 {
		bare = bare[:end]
	}
	return bare
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// flag matches an option of a command line, up to the end of its name.
var flag = compiled(`(?:^|[\s"'=,\[(])--?([A-Za-z][A-Za-z0-9_.-]*)(=|["'\\,\s]+)`)

// flagged reports whether an option of a command line has a secret value.
func (s *search) flagged(text string) bool {
	if !strings.Contains(text, "-") {
		return false
	}
	for at, names := 0, 0; ; {
		found := flag().FindStringSubmatchIndex(text[at:])
		if found == nil {
			return false
		}
		name, rest := text[at+found[2]:at+found[3]], text[at+found[1]:]
		at += found[3] // the separator from the next one is part of that one
		if !secretName(name) {
			continue
		}
		value := strings.TrimLeft(rest[:min(len(rest), maxBeginning)], " \t\"'\\")
		if end := strings.IndexAny(value, " \t\r\n\"'\\,]"); end >= 0 {
			value = value[:end]
		}
		if names++; names > maxNames || !strings.HasPrefix(value, "-") && !none(name, value) && s.add(value) {
			return true
		}
	}
}

// unescaped searches a text without the escapes of a URL, where it has some; in
// a query a plus sign is a space.
func (s *search) unescaped(text string, depth int) bool {
	if !strings.ContainsAny(text, "%+") {
		return false
	}
	plain := escapeOfURL().ReplaceAllStringFunc(text, func(escape string) string {
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
	escapeOfURL = compiled(`%[0-9A-Fa-f]{2}`)
	inBase64    = compiled(`[A-Za-z0-9+/_-]{16,}={0,2}`)
	// lineOfBase64 matches the ends of wrapped base64 lines.
	lineOfBase64 = compiled(`([A-Za-z0-9+/_-]{32,})[ \t]*\r?\n[ \t]*`)
)

// decoded searches base64 in a text.
func (s *search) decoded(text string, depth int) bool {
	for _, found := range inBase64().FindAllString(lineOfBase64().ReplaceAllString(text, "$1"), -1) {
		if inside := decoded(found); inside != "" && s.text(inside, depth+1) {
			return true
		}
	}
	return false
}
