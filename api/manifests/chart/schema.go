package chart

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// schema is a JSON schema.
type schema map[string]any

var (
	boolean = schema{"type": "boolean"}
	text    = schema{"type": "string"}
	// texts are labels, annotations and selectors.
	texts = schema{"type": "object", "additionalProperties": text}
)

func oneOf(values ...any) schema { return schema{"enum": values} }

func listOf[T any]() schema { return schema{"type": "array", "items": schemaOf(reflect.TypeFor[T]())} }

// schemaOf returns the schema of a type of Kubernetes' API: the fields that it has, and
// no others.
func schemaOf(t reflect.Type) schema {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return schema{"type": []string{"string", "number"}}
	case reflect.TypeFor[intstr.IntOrString]():
		return schema{"type": []string{"integer", "string"}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Struct:
		properties := map[string]any{}
		addProperties(properties, t)
		return schema{"type": "object", "additionalProperties": false, "properties": properties}
	case reflect.Slice:
		return schema{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.String:
		return text
	case reflect.Bool:
		return boolean
	case reflect.Int32, reflect.Int64:
		return schema{"type": "integer"}
	default:
		panic(fmt.Sprintf("no value of the chart is a %s", t)) // of a type, so every call fails
	}
}

func addProperties(properties map[string]any, t reflect.Type) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if options == "inline" || field.Anonymous {
			addProperties(properties, field.Type)
			continue
		}
		properties[name] = schemaOf(field.Type)
	}
}

// schemaFile refuses every value that the chart does not have, by its name.
func schemaFile(values []value) ([]byte, error) {
	root := group(values)
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "Values of the chart of nodepools"
	// Helm gives it to every chart that is part of another.
	root["properties"].(map[string]any)["global"] = schema{"type": "object"}
	data, err := json.MarshalIndent(root, "", "  ")
	return append(data, '\n'), err
}

func group(values []value) schema {
	properties := map[string]any{}
	var required []string
	for _, v := range values {
		if v.required {
			required = append(required, v.name)
		}
		s := schema{}
		if v.fields != nil {
			s = group(v.fields)
		}
		for key, rule := range v.schema {
			s[key] = rule
		}
		if v.doc != "" {
			s["description"] = v.doc
		}
		properties[v.name] = s
	}
	all := schema{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		all["required"] = required
	}
	return all
}
