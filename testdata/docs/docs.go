// Package docs reads the documentation of the repository, so that tests can hold it to
// what is true. Start with Pages.
package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A Page is a file of Markdown.
type Page struct {
	// Path is relative to the root of the repository, with slashes.
	Path string
	Text string
}

// Pages returns what users read: README.md first, then docs/*.md. It fails the test
// where there is no page in docs, as a test of no pages would hold nothing.
func Pages(t testing.TB) []Page {
	t.Helper()
	return append([]Page{Read(t, "README.md")}, glob(t, "docs/*.md")...)
}

// All returns every page that links to others: Pages, the translation of the README,
// CONTRIBUTING.md and the pages of the examples.
func All(t testing.TB) []Page {
	t.Helper()
	all := append(Pages(t), Read(t, "README.zh-CN.md"), Read(t, "CONTRIBUTING.md"))
	return append(all, glob(t, "examples/*/README.md")...)
}

// Read returns the page at a path from the root of the repository.
func Read(t testing.TB, path string) Page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Root(t), filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return Page{Path: path, Text: string(text)}
}

// Cut returns what stands between two delimiters, which have to be on just one of the
// Pages, and there once.
func Cut(t testing.TB, begin, end string) string {
	t.Helper()
	var found []string
	for _, page := range Pages(t) {
		for _, rest := range strings.Split(page.Text, begin)[1:] {
			if text, _, ended := strings.Cut(rest, end); ended {
				found = append(found, text)
			}
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d places in README.md and docs/*.md begin with %q and end with %q, want one", len(found), begin, end)
	}
	return found[0]
}

// Root returns the root of the repository, the nearest folder around the working
// directory that has a README.md beside a go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for !isFile(filepath.Join(dir, "go.mod")) || !isFile(filepath.Join(dir, "README.md")) {
		if dir == filepath.Dir(dir) {
			t.Fatal("no folder around the working directory has a go.mod and a README.md")
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

func glob(t testing.TB, pattern string) []Page {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(Root(t), filepath.FromSlash(pattern)))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no page (%v)", pattern, err)
	}
	var pages []Page
	for _, file := range files {
		path, err := filepath.Rel(Root(t), file)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, Read(t, filepath.ToSlash(path)))
	}
	return pages
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
