package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/testdata/docs"
)

const module = "github.com/nodepools/nodepools/"

// harness starts a browser for the tests of the page, and talks to it. It is the one
// import of a sequential package that may do so: its own tests run with the race
// detector.
const harness = "testdata/browser"

// What starts goroutines, beside go statements.
var (
	concurrentImport = regexp.MustCompile(`^(net|net/http|net/http/httptest|golang\.org/x/sync/.*|sigs\.k8s\.io/controller-runtime.*|k8s\.io/client-go/(rest|kubernetes|dynamic|informers.*|tools/.*|util/.*))$`)
	concurrentMethod = []string{"Go", "Parallel", "RunParallel", "AfterFunc"}
)

// What make test runs without the race detector starts no goroutine, and nor does what
// it imports of ours; but for the tests that make test runs with the detector as well.
func TestOnlyWhatIsSequentialIsNotRaced(t *testing.T) {
	sequential := makeVariable(t, "SEQUENTIAL")
	raced := makeVariable(t, "CONCURRENT_IN")
	tests := strings.Split(makeVariable(t, "CONCURRENT")[0], "|")
	if slices.Contains(sequential, harness) {
		t.Errorf("%s is to be tested with the race detector", harness)
	}
	seen := map[string]bool{}
	for _, pkg := range sequential {
		c := &concurrency{t: t, read: map[string]bool{harness: true}}
		c.of(pkg, true)
		for _, found := range c.found {
			if slices.Contains(tests, found.function) && slices.Contains(raced, pkg) && found.dir == pkg {
				seen[found.function] = true
				continue
			}
			t.Errorf("make test runs %s without the race detector, and %s: take it out of SEQUENTIAL, or add the test to CONCURRENT", pkg, found)
		}
	}
	for _, name := range tests {
		if !seen[name] {
			t.Errorf("%s is in CONCURRENT, and starts no goroutine in a package of CONCURRENT_IN", name)
		}
	}
}

// What is tested without the race detector as a program of its own is not called by its
// tests: those would be where the detector could see something.
func TestProgramThatIsNotRacedIsNotCalled(t *testing.T) {
	var ours, called []string
	for _, dir := range makeVariable(t, "OUTSIDE") {
		eachFile(t, dir, true, func(path string, file *ast.File, _ *token.FileSet) {
			ast.Inspect(file, func(node ast.Node) bool {
				switch node := node.(type) {
				case *ast.FuncDecl:
					if !strings.HasSuffix(path, "_test.go") && node.Recv == nil {
						ours = append(ours, node.Name.Name)
					}
				case *ast.CallExpr:
					if name, ok := node.Fun.(*ast.Ident); ok && strings.HasSuffix(path, "_test.go") {
						called = append(called, name.Name)
					}
				}
				return true
			})
		})
	}
	if len(ours) < 5 || len(called) < 50 {
		t.Fatalf("only %d functions and %d calls were found", len(ours), len(called))
	}
	for _, name := range called {
		if slices.Contains(ours, name) {
			t.Errorf("a test calls %s: take its package out of OUTSIDE, in the Makefile", name)
		}
	}
}

// makeVariable returns the words of a variable of the Makefile.
func makeVariable(t *testing.T, name string) []string {
	t.Helper()
	text := strings.ReplaceAll(docs.Read(t, "Makefile").Text, "\\\n", " ")
	value := regexp.MustCompile(`(?m)^` + name + ` += (.+)$`).FindStringSubmatch(text)
	if value == nil {
		t.Fatalf("the Makefile has no %s", name)
	}
	return strings.Fields(value[1])
}

// concurrency finds what starts goroutines.
type concurrency struct {
	t     *testing.T
	read  map[string]bool // the packages that have been
	found []start
}

// start is something that starts goroutines.
type start struct {
	dir, function string
	at, what      string
}

func (s start) String() string { return fmt.Sprintf("%s has %s", s.at, s.what) }

// of reads a package, and what it imports of ours.
func (c *concurrency) of(dir string, withTests bool) {
	c.t.Helper()
	if c.read[dir] {
		return
	}
	c.read[dir] = true
	eachFile(c.t, dir, withTests, func(_ string, file *ast.File, files *token.FileSet) {
		add := func(node ast.Node, function, what string) {
			c.found = append(c.found, start{dir, function, files.Position(node.Pos()).String(), what})
		}
		c.imports(file, add)
		for _, declaration := range file.Decls {
			name := ""
			if function, ok := declaration.(*ast.FuncDecl); ok {
				name = function.Name.Name
			}
			starts(declaration, name, add)
		}
	})
}

// eachFile reads the code of a package.
func eachFile(t *testing.T, dir string, withTests bool, visit func(path string, file *ast.File, files *token.FileSet)) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(docs.Root(t), dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(paths), err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") && !withTests {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		visit(path, file, files)
	}
}

func (c *concurrency) imports(file *ast.File, add func(ast.Node, string, string)) {
	c.t.Helper()
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			c.t.Fatal(err)
		}
		if concurrentImport.MatchString(path) {
			add(spec, "", "the import "+path)
		}
		if dir, ours := strings.CutPrefix(path, module); ours {
			c.of(dir, false)
		}
	}
}

func starts(declaration ast.Decl, function string, add func(ast.Node, string, string)) {
	ast.Inspect(declaration, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GoStmt:
			add(node, function, "a go statement")
		case *ast.CallExpr:
			if method, ok := node.Fun.(*ast.SelectorExpr); ok && slices.Contains(concurrentMethod, method.Sel.Name) {
				add(node, function, "a call of "+method.Sel.Name)
			}
		}
		return true
	})
}
