package plan

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What a controller gives the plan besides what stands in the cluster, and what a
// difference assumes, is all that makes the two differ. Each of it is named at [Diff].
func TestDiffNamesAllThatItAssumes(t *testing.T) {
	assumed := map[string]bool{}
	for _, facts := range []any{NodeFacts{}, AcceptFacts{}, PoolFacts{}, Revision{}} {
		of := reflect.TypeOf(facts)
		for i := range of.NumField() {
			if name := of.Field(i).Name; of.Name() != "Revision" || strings.HasPrefix(name, "Assume") {
				assumed[of.Name()+"."+name] = true
			}
		}
	}
	files := parsed(t)
	var comment string
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "Diff" {
				comment = f.Doc.Text()
			}
			return true
		})
	}
	named := map[string]bool{}
	for _, match := range regexp.MustCompile(`\[((?:NodeFacts|AcceptFacts|PoolFacts|Revision)\.\w+)\]`).FindAllStringSubmatch(comment, -1) {
		named[match[1]] = true
	}
	if !maps.Equal(named, assumed) {
		t.Errorf("the comment of Diff names %v, want %v", slices.Sorted(maps.Keys(named)), slices.Sorted(maps.Keys(assumed)))
	}
	if types, want := typesOfFacts(files), []string{"AcceptFacts", "NodeFacts", "PoolFacts"}; !slices.Equal(types, want) {
		t.Errorf("types of facts are %v, want %v: what Diff assumes of others is not compared here", types, want)
	}
}

// A difference is made of what stands in the cluster: it gives the plan no facts.
func TestDiffGivesNoFacts(t *testing.T) {
	given := 0
	for name, file := range parsed(t) {
		if !slices.Contains([]string{"diff.go", "after.go", "compose.go", "poolchanges.go", "accept.go"}, name) {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if of, ok := literal.Type.(*ast.Ident); ok && strings.HasSuffix(of.Name, "Facts") {
				given++
				if len(literal.Elts) > 0 {
					t.Errorf("%s gives %s", name, of.Name)
				}
			}
			return true
		})
	}
	if given == 0 {
		t.Error("no facts are found: nothing was compared")
	}
}

// parsed are the files of the package, without tests.
func parsed(t *testing.T) map[string]*ast.File {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = file
		}
	}
	return files
}

// typesOfFacts are the types whose name says that they are facts, sorted.
func typesOfFacts(files map[string]*ast.File) (names []string) {
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && strings.HasSuffix(spec.Name.Name, "Facts") {
				names = append(names, spec.Name.Name)
			}
			return true
		})
	}
	slices.Sort(names)
	return names
}
