package render

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// syntaxError matches an error of the parser.
var syntaxError = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// onTheNextLine are the errors for which the parser gives the line before.
var onTheNextLine = []string{
	"did not find expected key",
	"did not find expected '-' indicator",
	"did not find expected ',' or ']'",
	"did not find expected ',' or '}'",
	"did not find expected node content",
	"found undefined tag handle",
}

// syntaxHints are the usual causes of errors of the parser.
var syntaxHints = map[string]string{
	"did not find expected key":                                    "check the indentation of this line and of those before it",
	"did not find expected '-' indicator":                          "check the indentation of this line and of those before it",
	"did not find expected ',' or ']'":                             "the list that begins here with [ has no end",
	"did not find expected ',' or '}'":                             "the map that begins here with { has no end",
	"mapping values are not allowed in this context":               "check the indentation, and put a value with a colon in quotes",
	"could not find expected ':'":                                  "a key needs a colon and a space behind it",
	"found unexpected end of stream":                               "the quotes that begin here have no end",
	"found incompatible YAML document":                             "leave the line %YAML out",
	"found unknown escape character":                               `write \\ for a backslash, or use single quotes`,
	"found character that cannot start any token":                  "put the value in quotes",
	"found a tab character that violates indentation":              indentHint,
	"found a tab character where an indentation space is expected": indentHint,
}

const (
	indentHint    = "indent with spaces, not with tabs"
	withoutMarker = "a second document begins without a line ---"
	markerHint    = "write --- before it"
)

// syntax reports that a text is not YAML. The parser does not always give the
// line, and sometimes gives the one before.
func (d *document) syntax(err error) {
	line, message := 0, err.Error()
	if found := syntaxError.FindStringSubmatch(message); found != nil {
		line, _ = strconv.Atoi(found[1]) // at most the number of lines, or empty
		message = found[2]
	}
	hint := syntaxHints[message]
	// The end of the document is where its last word is.
	lines := bytes.Split(bytes.TrimRight(d.text.data, " \r\n"), []byte("\n"))
	switch {
	case strings.HasPrefix(message, "did not find expected key"), strings.HasPrefix(message, "did not find expected '-'"):
		line = d.lineOfSyntaxError(line) + 1
	case message == "did not find expected <document start>":
		line, message, hint = line+1, withoutMarker, markerHint
	case slices.Contains(onTheNextLine, message):
		line++
	case strings.HasPrefix(message, "unknown anchor '"):
		name := strings.Split(message, "'")[1]
		line = 1 + slices.IndexFunc(lines, func(text []byte) bool { return bytes.Contains(text, []byte("*"+name)) })
		// Its name is not shown: it may be a password that begins with *.
		message, hint = "an alias has no anchor before it", "anchors are known within one document; put text that begins with * in quotes"
	}
	line = min(max(line, 1), len(lines))
	if text := lines[line-1]; bytes.HasPrefix(bytes.TrimLeft(text, " "), []byte("\t")) {
		hint = indentHint
	}
	d.add(&yaml.Node{Line: line, Column: 1}, "this is not YAML: "+message, hint)
}

// lineOfSyntaxError uses another parser, which for a fault in a block gives the
// line of the fault and not that where the block begins.
func (d *document) lineOfSyntaxError(line int) int {
	var ignored any
	err := sigsyaml.Unmarshal(d.text.data, &ignored)
	if err == nil {
		return line
	}
	_, text, _ := strings.Cut(err.Error(), "yaml: line ")
	digits, _, _ := strings.Cut(text, ":")
	if better, err := strconv.Atoi(digits); err == nil {
		return better
	}
	return line
}
