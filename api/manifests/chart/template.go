package chart

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/api/manifests"
)

// builder makes templates, and keeps what becomes the default of a value.
type builder struct {
	holes    []hole
	defaults map[string]any
}

// hole returns the lines that take the place of the line in which its marker stands.
// The key is empty in a list. What stands before the key is blank, but for a dash where
// it is the first one of an item.
type hole func(indent, key string) []string

const (
	// namespace stands in objects for that of the release.
	namespace = "namespace-of-the-release"
	marker    = "helm-hole-"
)

// Lines with a marker: as an item or as a key, or as the value of a key, which may be the
// first one of an item.
var (
	markedItem  = regexp.MustCompile(`^( *)(?:- )?()` + marker + `(\d+)(?:: null)?$`)
	markedValue = regexp.MustCompile(`^( *(?:- )?)([^ :]+): ` + marker + `(\d+)$`)
)

// mark returns what stands in an object in the place of a hole.
func (b *builder) mark(h hole) string {
	b.holes = append(b.holes, h)
	return marker + strconv.Itoa(len(b.holes)-1)
}

// scalar writes an expression as a value.
func scalar(expression string) hole {
	return func(indent, key string) []string {
		return []string{fmt.Sprintf("%s%s: {{ %s }}", indent, key, expression)}
	}
}

// block writes a value of any kind below its key, and neither where it is empty.
func block(value string) hole {
	return func(indent, key string) []string {
		return []string{
			"{{- with .Values." + value + " }}",
			indent + key + ":",
			fmt.Sprintf("  {{- toYaml . | nindent %d }}", len(indent)+2),
			"{{- end }}",
		}
	}
}

// list writes a value that is never empty below its key.
func list(value string) hole {
	return func(indent, key string) []string {
		return []string{indent + key + ":", fmt.Sprintf("  {{- toYaml .Values.%s | nindent %d }}", value, len(indent)+2)}
	}
}

// more writes the entries or the items of a value beside those that are there.
func more(value string) hole {
	return func(indent, _ string) []string {
		return []string{
			"{{- with .Values." + value + " }}",
			fmt.Sprintf("  {{- toYaml . | nindent %d }}", len(indent)),
			"{{- end }}",
		}
	}
}

// item writes an item of a list where a condition holds.
func item(condition, expression string) hole {
	return func(indent, _ string) []string {
		return []string{"{{- if " + condition + " }}", indent + "- " + expression, "{{- end }}"}
	}
}

// itemOf writes an object as an item of a list where a condition holds.
func itemOf(condition string, object any) (hole, error) {
	text, err := yaml.Marshal([]any{object})
	if err != nil {
		return nil, err
	}
	return func(indent, _ string) []string {
		lines := []string{"{{- if " + condition + " }}"}
		for line := range strings.Lines(string(text)) {
			lines = append(lines, indent+escape(strings.TrimSuffix(line, "\n")))
		}
		return append(lines, "{{- end }}")
	}, nil
}

// when writes the line as it would be without a hole where a condition holds.
func when(condition, expression string) hole {
	return func(indent, key string) []string {
		return []string{"{{- if " + condition + " }}", fmt.Sprintf("%s%s: {{ %s }}", indent, key, expression), "{{- end }}"}
	}
}

// tree returns an object as maps and lists, whose empty fields are left out, as
// install prints it.
func tree(object manifests.Object) (map[string]any, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	delete(fields, "status")
	return fields, nil
}

// render writes an object with its holes filled.
func (b *builder) render(fields map[string]any) (string, error) {
	text, err := yaml.Marshal(fields)
	if err != nil {
		return "", err
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		found := markedItem.FindStringSubmatch(line)
		if found == nil {
			found = markedValue.FindStringSubmatch(line)
		}
		if found == nil {
			line = escape(line)
			// The name of a namespace may look like a number.
			line = strings.Replace(line, ": "+namespace, ": {{ .Release.Namespace | quote }}", 1)
			if strings.Contains(line, marker) || strings.Contains(line, namespace) {
				return "", fmt.Errorf("the line %q is not understood", line)
			}
			lines = append(lines, line)
			continue
		}
		number, err := strconv.Atoi(found[3])
		if err != nil {
			return "", err
		}
		lines = append(lines, b.holes[number](found[1], found[2])...)
	}
	return strings.Join(lines, "\n") + "\n", nil
}

// escape keeps what an object says from being an expression.
func escape(line string) string { return strings.ReplaceAll(line, "{{", `{{ "{{" }}`) }

// at returns the map at a path below another, and makes those that are missing.
func at(fields map[string]any, path ...string) map[string]any {
	for _, name := range path {
		next, ok := fields[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			fields[name] = next
		}
		fields = next
	}
	return fields
}

// bind makes a field a value: what is there is its default.
func (b *builder) bind(fields map[string]any, field, value string, write func(value string) hole) {
	b.defaults[value] = fields[field]
	fields[field] = b.mark(write(value))
}
