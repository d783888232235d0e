package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/testdata/docs"
)

var (
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	testMention  = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)(?:/([\\w-]+))?`")
)

// scriptFolders are where the scripts are that stand for tests of these names.
var scriptFolders = map[string]string{
	"TestScripts":        "testdata/script",
	"TestClusterScripts": "testdata/script/cluster",
}

// A guarantee is worth what the test behind it is worth, so the documents name
// the tests. Each must exist.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	exists := map[string]bool{}
	for _, code := range testFiles(t) {
		for _, match := range testFunction.FindAllStringSubmatch(code, -1) {
			exists[match[1]] = true
		}
	}
	for _, page := range docs.All(t) {
		document := page.Path
		for _, mention := range testMention.FindAllStringSubmatch(page.Text, -1) {
			name, script := mention[1], mention[2]
			if !exists[name] {
				t.Errorf("%s names the test %s, and there is none", document, name)
			}
			if script == "" {
				continue
			}
			if _, err := os.Stat(filepath.Join(scriptFolders[name], script+".txtar")); err != nil {
				t.Errorf("%s names the script %s of %s: %v", document, script, name, err)
			}
		}
	}
}

// testFiles returns the code of all tests, by path.
func testFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		files[path] = string(code)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
