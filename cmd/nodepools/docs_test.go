package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	testMention  = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`")
)

// A guarantee is worth what the test behind it is worth, so the documents name
// the tests. Each must exist.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	root := filepath.Join("..", "..")
	exists := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		for _, match := range testFunction.FindAllSubmatch(code, -1) {
			exists[string(match[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range []string{"README.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(filepath.Join(root, document))
		if err != nil {
			t.Fatal(err)
		}
		mentions := testMention.FindAllSubmatch(text, -1)
		if len(mentions) == 0 {
			t.Errorf("%s names no test", document)
		}
		for _, mention := range mentions {
			if name := string(mention[1]); !exists[name] {
				t.Errorf("%s names the test %s, and there is none", document, name)
			}
		}
	}
}
