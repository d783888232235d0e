package chart

import (
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	b := &builder{defaults: map[string]any{}}
	fields := map[string]any{
		"braces": "{{ .Values.secret }}",
		"list":   []any{"one", b.mark(item(".Values.on", "two")), b.mark(more("items"))},
		"map":    map[string]any{"a": "b", b.mark(more("entries")): nil},
		"space":  map[string]any{"namespace": namespace},
		"rules":  []any{map[string]any{"from": b.mark(list("peers")), "to": "x"}},
	}
	b.bind(fields, "bound", "bound", func(value string) hole { return scalar(".Values." + value) })
	fields["gone"] = b.mark(when(".Values.gone", ".Values.gone | quote"))
	got, err := b.render(fields)
	if err != nil {
		t.Fatal(err)
	}
	want := `bound: {{ .Values.bound }}
braces: '{{ "{{" }} .Values.secret }}'
{{- if .Values.gone }}
gone: {{ .Values.gone | quote }}
{{- end }}
list:
- one
{{- if .Values.on }}
- two
{{- end }}
{{- with .Values.items }}
  {{- toYaml . | nindent 0 }}
{{- end }}
map:
  a: b
{{- with .Values.entries }}
  {{- toYaml . | nindent 2 }}
{{- end }}
rules:
- from:
  {{- toYaml .Values.peers | nindent 4 }}
  to: x
space:
  namespace: {{ .Release.Namespace | quote }}
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A place in which no value can stand is refused, and not printed.
func TestRenderRefuses(t *testing.T) {
	b := &builder{defaults: map[string]any{}}
	for reason, fields := range map[string]map[string]any{
		"the namespace within a text": {"a": "of " + namespace},
		"a marker within a text":      {"a": "of " + b.mark(scalar("x"))},
		"the namespace as a key":      {namespace: "a"},
	} {
		if got, err := b.render(fields); err == nil || !strings.Contains(err.Error(), "is not understood") {
			t.Errorf("%s: got %q and error %v", reason, got, err)
		}
	}
}
