package review

import (
	"encoding"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// schemaOf writes the JSON form of a type as a JSON Schema, with the comments of
// the types as its descriptions. What is a pointer or a map may be null, unless it
// is left out then.
func schemaOf(t *testing.T, root any, folders ...string) map[string]any {
	t.Helper()
	g := &generator{comments: map[string]string{}, types: map[string]any{}}
	for _, folder := range folders {
		g.read(t, folder)
	}
	reference := g.of(reflect.TypeOf(root))
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "What nodepools diff prints with -o json and -o yaml",
		"$ref":    reference["$ref"],
		"$defs":   g.types,
	}
}

type generator struct {
	comments map[string]string // of "package.Type" and "package.Type.Field"
	types    map[string]any
}

// read collects the comments of the types in a folder.
func (g *generator) read(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no Go files in %s: %v", folder, err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if declared, ok := n.(*ast.GenDecl); ok {
				for _, spec := range declared.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						g.note(file.Name.Name+"."+spec.Name.Name, declared.Doc, spec)
					}
				}
			}
			return true
		})
	}
}

func (g *generator) note(name string, doc *ast.CommentGroup, spec *ast.TypeSpec) {
	g.comments[name] = oneLine(doc.Text())
	structure, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range structure.Fields.List {
		text := field.Doc.Text()
		if text == "" {
			text = field.Comment.Text()
		}
		for _, id := range field.Names {
			g.comments[name+"."+id.Name] = oneLine(text)
		}
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func (g *generator) of(t reflect.Type) map[string]any {
	if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return orNull(g.of(t.Elem()))
	case reflect.Slice:
		return map[string]any{"type": "array", "items": g.of(t.Elem())}
	case reflect.Map:
		return orNull(map[string]any{"type": "object"})
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Struct:
		return g.object(t)
	}
	panic("the schema knows no " + t.String())
}

func orNull(schema map[string]any) map[string]any {
	return map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}
}

func (g *generator) object(t reflect.Type) map[string]any {
	name := path.Base(t.PkgPath()) + "." + t.Name()
	reference := map[string]any{"$ref": "#/$defs/" + name}
	if g.types[name] != nil {
		return reference
	}
	properties, required := map[string]any{}, []string{}
	object := map[string]any{"type": "object", "description": g.comments[name], "properties": properties}
	g.types[name] = object
	for i := range t.NumField() {
		field := t.Field(i)
		key, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if key == "-" || !field.IsExported() {
			continue
		}
		property := g.of(field.Type)
		if options != "omitempty" {
			required = append(required, key)
		} else if either, nullable := property["anyOf"].([]any); nullable {
			property = either[0].(map[string]any)
		}
		if comment := g.comments[name+"."+field.Name]; comment != "" {
			property["description"] = comment
		}
		properties[key] = property
	}
	object["required"] = required
	return reference
}
