package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/source/poolfile"
)

// Definition is a pool and the position of its definition.
type Definition struct {
	// Pool has the fields of the file and nothing else: apiVersion, kind, name,
	// labels, annotations and spec. Defaults of the schema (priority 0,
	// conflictPolicy Report) are not filled in where the file leaves them out.
	Pool *v1.NodePool
	// File is slash-separated and relative to the root of the tree.
	File string
	// Line is that of the first key of the document, counted from 1.
	Line int
	// Warnings are sorted by their label key.
	Warnings []Warning
	// Changes are what later layers changed, sorted by field.
	Changes []Change
}

// Load reads every pool of a file tree, and returns them sorted by name. A tree
// without any pool is no error: the caller decides whether that is intended.
//
// The tree is accepted whole or not at all: with any error, there are no pools,
// and the error is a [Problems] with every problem of every file.
//
// Every *.yaml and *.yml file is read, in all folders, apart from files and
// folders whose name begins with a dot. Such a file may hold nothing but
// NodePools, any number of them: another kind could be a pool whose kind is
// mistyped, and ignoring it would look like its deletion. Unknown fields,
// duplicate keys and values of a wrong type are problems, as is everything that
// [v1.ValidateNodePool] finds. Among themselves, the pools need names of their
// own and parents that exist.
//
// With layers, only these folders of the tree are read, see [CheckLayers]. A document
// in a later layer changes the pool of that name of an earlier one: a map is merged by
// its keys, and spec.taints by key and effect; other lists and values are replaced. The
// value null removes a field or a key, and the item $patch: delete a taint. With the
// annotation [v1.LayerAnnotation] the document defines a pool of its own, or removes
// one. What is not there cannot be changed or removed: that is a problem, as it is
// what a mistyped name looks like.
//
// A hostile tree costs bounded memory and time; see the constants in bounds.go.
func Load(files fs.FS, layers ...string) ([]Definition, error) {
	l := &loader{files: files, layers: layers}
	l.walk()
	l.pools.check(&l.report, l.incomplete)
	omitted := l.report.count - l.report.problems.Count()
	if problems := l.report.sorted(); len(problems) > 0 {
		if omitted > 0 {
			message := fmt.Sprintf("%d problems: the first %d are shown", l.report.count, maxProblems)
			if l.stopped {
				message += ", and not all of the tree was read"
			}
			problems = append(problems, Problem{File: ".", Message: message, Omitted: omitted})
		}
		return nil, problems
	}
	definitions := make([]Definition, 0, len(l.pools))
	for _, pool := range l.pools {
		definitions = append(definitions, pool.Definition)
	}
	slices.SortFunc(definitions, func(a, b Definition) int { return strings.Compare(a.Pool.Name, b.Pool.Name) })
	return definitions, nil
}

// A loader is one pass over a tree.
type loader struct {
	files  fs.FS
	layers []string
	report report
	pools  poolSet
	// layer is the index of the layer that is being read, and changes are those of
	// later layers whose definitions have not been read yet, by the name of the pool.
	layer   int
	changes map[string][]layerChange
	// incomplete is set when there may be pools that are not in the set,
	// because something could not be read.
	incomplete bool
	// stopped is set when the tree exceeds a bound, and was not read to its end.
	stopped bool

	entries, yamlFiles, bytes int
	// nodes is the number of keys and values in all documents, as they are read.
	nodes int
	// poolBytes is the size of all pools in the set, and overflow is set when there
	// are more than a tree may have.
	poolBytes int
	largest   placedPool
	overflow  bool
}

// file reports a problem with a file as a whole. The pools in it are unknown.
func (l *loader) file(name, message, hint string) {
	l.incomplete = true
	l.report.add(Problem{File: name, Message: message, Hint: hint})
}

// visit is called for each entry of the tree, in lexical order.
func (l *loader) visit(name string, entry fs.DirEntry, err error) (next error) {
	defer func() { l.stopped = errors.Is(next, fs.SkipAll) }()
	if err != nil {
		l.file(name, "cannot be read: "+err.Error(), "")
		return nil
	}
	if name != "." && poolfile.IsHidden(name) {
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	l.entries++
	if l.entries > maxEntries {
		l.file(".", fmt.Sprintf("the tree has more than %d files and folders", maxEntries), "point the path at the folder that holds the pools")
		return fs.SkipAll
	}
	switch {
	case entry.IsDir() && len(name) > maxFileName:
		l.file(name, fmt.Sprintf("the folder's path is longer than %d bytes", maxFileName), "")
		return fs.SkipAll
	case entry.IsDir():
		return nil
	case entry.Type()&fs.ModeSymlink != 0 && (poolfile.Is(name) || path.Ext(name) == ""):
		// Links are not followed, as they may lead out of the tree. One to a folder
		// or a pool file cannot be ignored silently though.
		l.file(name, "is a symbolic link, which is not followed", "put the file or folder itself there, or give the link a name that begins with a dot")
		return nil
	case !poolfile.Is(name):
		return nil
	case !entry.Type().IsRegular():
		l.file(name, "is not a regular file", "")
		return nil
	}
	return l.read(name)
}

// parse reads the pools of one file.
func (l *loader) parse(name string, data []byte) {
	data, problem := checkText(data)
	if problem != nil {
		problem.File = name
		l.incomplete = true
		l.report.add(*problem)
		return
	}
	texts := split(data)
	if len(texts) > maxDocuments {
		l.file(name, fmt.Sprintf("the file has more than %d documents", maxDocuments), "split it")
		return
	}
	for _, text := range texts {
		doc := &document{file: name, text: text, report: &l.report}
		if !l.document(doc) {
			return
		}
	}
}

// document reads the pool of a document, and reports whether the bounds allow more.
func (l *loader) document(doc *document) bool {
	defer doc.countOmitted()
	if !doc.open() {
		l.incomplete = l.incomplete || doc.problems > 0
		return true
	}
	if l.kept(doc) {
		return l.spend(doc.nodes)
	}
	if !l.apply(doc) {
		return true
	}
	pool, named := doc.read()
	switch {
	case !l.spend(doc.nodes):
		return false
	case !named:
		l.incomplete = l.incomplete || doc.problems > 0
		return true
	}
	return l.take(pool)
}
