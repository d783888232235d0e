package local

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// conversions are the attributes by which git writes other bytes into the working tree
// than a commit has. Those of line endings are not among them: YAML is the same with
// each.
var conversions = []string{"ident", "filter", "working-tree-encoding"}

// attributes says which attributes the repository gives to the files of a folder. What
// it cannot know it takes for given: it is asked about files alone that are not those
// of the index.
type attributes struct {
	lines  []attributeLine
	macros map[string][]string // the conversions that a name stands for
}

type attributeLine struct {
	domain, pattern string
	fields          []string
}

// readAttributes reads the files that concern a folder and those in it, the strongest
// last.
func (r *Repository) readAttributes(folder string, within fs.FS) (*attributes, error) {
	domains := []string{"."}
	if folder != "." {
		passed := ""
		for part := range strings.SplitSeq(folder, "/") {
			passed = path.Join(passed, part)
			domains = append(domains, passed)
		}
	}
	var below []string
	err := fs.WalkDir(within, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && name != "." {
			below = append(below, path.Join(folder, name))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(below) // a folder comes before those in it
	a := &attributes{macros: map[string][]string{}}
	for _, domain := range append(domains, below...) {
		if err := a.read(filepath.Join(r.root, filepath.FromSlash(domain), ".gitattributes"), domain); err != nil {
			return nil, err
		}
	}
	return a, a.read(filepath.Join(r.common, "info", "attributes"), ".")
}

func (a *attributes) read(name, domain string) error {
	text, err := readRegular(name, maxConfigBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unreadableFile(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		pattern, rest := "**", line // a quoted pattern is taken for any
		if line[0] == '"' {
			if end := strings.LastIndexByte(line, '"'); end > 0 {
				rest = line[end+1:]
			}
		} else {
			pattern, rest, _ = strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
		}
		if macro, is := strings.CutPrefix(pattern, "[attr]"); is {
			a.macros[macro] = append(a.macros[macro], strings.Fields(rest)...)
			continue
		}
		a.lines = append(a.lines, attributeLine{domain, pattern, strings.Fields(rest)})
	}
	return nil
}

// converts returns a conversion that a file has, or the empty string.
func (a *attributes) converts(name string) string {
	given := map[string]bool{}
	for _, line := range a.lines {
		if line.matches(name) {
			a.apply(line.fields, given, 0)
		}
	}
	for _, conversion := range conversions {
		if given[conversion] {
			return conversion
		}
	}
	return ""
}

func (a *attributes) apply(fields []string, given map[string]bool, depth int) {
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		off := strings.HasPrefix(name, "-") || strings.HasPrefix(name, "!")
		name = strings.TrimLeft(name, "-!")
		if slices.Contains(conversions, name) {
			given[name] = !off && (name != "working-tree-encoding" || !strings.EqualFold(value, "utf-8"))
		}
		if macro, is := a.macros[name]; is && !off && depth < 8 {
			a.apply(macro, given, depth+1)
		}
	}
}

// matches goes by the last part of the pattern alone where more cannot be known.
func (line attributeLine) matches(name string) bool {
	inside := name
	if line.domain != "." {
		var within bool
		if inside, within = strings.CutPrefix(name, line.domain+"/"); !within {
			return false
		}
	}
	pattern := strings.TrimPrefix(line.pattern, "/")
	if !strings.Contains(line.pattern, "/") || strings.Contains(pattern, "**") {
		inside, pattern = path.Base(inside), path.Base(pattern)
	}
	matched, err := path.Match(strings.ReplaceAll(pattern, "**", "*"), inside)
	return matched || err != nil
}
