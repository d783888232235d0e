// Command apidoc writes the reference of the API from the CustomResourceDefinitions:
//
//	apidoc FILE
//
// make generate calls it. A generator of others reads the Go types, which lack the
// defaults and limits that kubebuilder adds to the definitions.
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/nodepools/nodepools/api/crds"
)

const head = `# API reference

[All pages](../README.md#documentation)

This page is generated from the CustomResourceDefinitions. [Pools](pools.md) and
[sources](sources.md) explain how the fields work together.
`

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "apidoc: name the file to write")
		os.Exit(2)
	}
	text, err := reference()
	if err == nil {
		err = os.WriteFile(os.Args[1], []byte(text), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "apidoc:", err)
		os.Exit(1)
	}
}

func reference() (string, error) {
	definitions, err := crds.All()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString(head)
	for _, definition := range definitions {
		version := definition.Spec.Versions[0]
		fmt.Fprintf(&out, "\n## %s\n\n`%s/%s`, resource `%s`.\n", definition.Spec.Names.Kind, definition.Spec.Group, version.Name, definition.Name)
		for _, section := range []string{"spec", "status"} {
			schema := version.Schema.OpenAPIV3Schema.Properties[section]
			fmt.Fprintf(&out, "\n### %s %s\n\n| field | type | description |\n|---|---|---|\n", definition.Spec.Names.Kind, section)
			rows(&out, "", schema)
		}
	}
	return out.String(), nil
}

// rows writes a row for each field of an object, and below it those of the field.
func rows(out *strings.Builder, path string, schema apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		field := schema.Properties[name]
		kind := field.Type
		if kind == "" {
			kind = "any"
		}
		inner := field
		full := path + name
		switch {
		case field.Items != nil && field.Items.Schema != nil:
			inner = *field.Items.Schema
			kind, full = "list of "+inner.Type, full+"[]"
		case field.AdditionalProperties != nil && field.AdditionalProperties.Schema != nil:
			inner = *field.AdditionalProperties.Schema
			kind = "map of " + inner.Type
		case field.XIntOrString:
			kind = "integer or string"
		}
		if slices.Contains(schema.Required, name) {
			kind += ", required"
		}
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", full, kind, cell(field, inner))
		rows(out, full+".", inner)
	}
}

// cell describes a field in one line: its text, its default, its values and its bounds.
func cell(field, inner apiextensionsv1.JSONSchemaProps) string {
	var facts []string
	if text := strings.Join(strings.Fields(field.Description), " "); text != "" {
		facts = append(facts, strings.ToUpper(text[:1])+text[1:])
	}
	if field.Default != nil {
		facts = append(facts, "Default: `"+string(field.Default.Raw)+"`.")
	}
	var values []string
	for _, value := range inner.Enum {
		values = append(values, "`"+strings.Trim(string(value.Raw), `"`)+"`")
	}
	if len(values) > 0 {
		facts = append(facts, "One of "+strings.Join(values, ", ")+".")
	}
	for _, bound := range []struct {
		text string
		of   *int64
	}{{"at most %d items", field.MaxItems}, {"at most %d entries", field.MaxProperties}, {"at most %d characters", inner.MaxLength}} {
		if bound.of != nil {
			facts = append(facts, "Limit: "+fmt.Sprintf(bound.text, *bound.of)+".")
		}
	}
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(strings.Join(facts, " "))
}
