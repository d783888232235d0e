package render

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/source/poolfile"
)

// maxLayers is the number of folders that a tree may be read from.
const maxLayers = 16

// CheckLayers returns why folders cannot be the layers of a tree, or nil. Each is a
// slash-separated path from the root, without . and .. in it and without names that
// begin with a dot, and none is within another: a file in both would change itself.
func CheckLayers(layers []string) error {
	if len(layers) > maxLayers {
		return fmt.Errorf("%d layers: there may be %d", len(layers), maxLayers)
	}
	for i, layer := range layers {
		switch {
		case !fs.ValidPath(layer) || layer == "." || len(layer) > maxFileName:
			return fmt.Errorf("the layer %s is not a path within the folder, such as base or clusters/prod-1", quoted(layer))
		case poolfile.BelowHidden(layer):
			return fmt.Errorf("the layer %s has a name that begins with a dot: such folders are not read", quoted(layer))
		}
		for _, earlier := range layers[:i] {
			switch {
			case earlier == layer:
				return fmt.Errorf("the layer %s is there twice", quoted(layer))
			case strings.HasPrefix(layer+"/", earlier+"/"), strings.HasPrefix(earlier+"/", layer+"/"):
				return fmt.Errorf("the layers %s and %s are within each other: their files would be read twice", quoted(earlier), quoted(layer))
			}
		}
	}
	return nil
}

// walk reads the layers, or the whole tree where there are none. The last layer comes
// first: when a definition is read, what later layers change of it is known, and the
// parsed documents of one pool at a time are in memory.
func (l *loader) walk() {
	if len(l.layers) == 0 {
		l.walkFolder(".")
		return
	}
	if err := CheckLayers(l.layers); err != nil {
		l.file(".", err.Error(), "")
		return
	}
	for l.layer = len(l.layers) - 1; l.layer >= 0 && !l.stopped; l.layer-- {
		if l.isFolder(l.layers[l.layer]) {
			l.walkFolder(l.layers[l.layer])
		}
	}
	l.changesOfNothing()
}

func (l *loader) walkFolder(name string) {
	// The function below returns only errors that end the walk.
	if err := fs.WalkDir(l.files, name, l.visit); err != nil {
		l.file(name, "cannot read the folder: "+err.Error(), "")
	}
}

// isFolder reports whether a layer is a folder of the tree, and not a link to one.
func (l *loader) isFolder(layer string) bool {
	for at := layer; at != "."; at = path.Dir(at) {
		info, err := fs.Lstat(l.files, at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			l.file(layer, "the layer is not a folder of this revision", "create it, or take it out of the list of layers")
		case err != nil:
			l.file(layer, "cannot be read: "+err.Error(), "")
		case !info.IsDir():
			l.file(layer, "the layer is not a folder", "put the folder itself there: links are not followed")
		default:
			continue
		}
		return false
	}
	return true
}

// What the annotation [v1.LayerAnnotation] says of a document. Without it, a
// document of a later layer changes a pool of an earlier one.
const (
	layerAdds    = "add"
	layerRemoves = "remove"
)

// layerAnnotationPath is where a document has the annotation.
var layerAnnotationPath = field.NewPath("metadata", "annotations").Key(v1.LayerAnnotation).String()

// A layerChange is a document that changes a pool of an earlier layer. Its text is
// kept and not its tree, which is many times as large.
type layerChange struct {
	layer   int
	file    string
	text    documentText
	name    position
	removes bool
}

// kept reports whether an open document defines no pool: it changes one of an earlier
// layer, and is kept until the definition of that is read, or it has a wrong annotation.
func (l *loader) kept(doc *document) bool {
	says := textAt(doc.root, "metadata", "annotations", v1.LayerAnnotation)
	if _, value := descend(doc.root, layerAnnotationPath); value != nil && says == "" && l.layer > 0 {
		doc.add(locate(doc.root, layerAnnotationPath), layerAnnotationPath+": must be "+layerAdds+" or "+layerRemoves+", and is "+describe(value), "")
		l.incomplete = true
		return true
	}
	if problem, hint := l.misplaced(says); problem != "" {
		doc.add(locate(doc.root, layerAnnotationPath), layerAnnotationPath+": "+problem, hint)
		l.incomplete = true
		return true
	}
	change := layerChange{layer: l.layer, file: doc.file, text: doc.text, name: doc.position(locate(doc.root, "metadata.name")), removes: says == layerRemoves}
	isChange := l.layer > 0 && says != layerAdds
	for _, other := range l.changes[doc.pool] {
		if other.layer == l.layer {
			doc.add(locate(doc.root, "metadata.name"), "the layer changes the pool in "+other.name.String()+" too", "keep one of the two")
			return true
		}
	}
	if !isChange {
		return false
	}
	measure(doc.root, 1, &doc.nodes)
	switch spec := locate(doc.root, "spec"); {
	case doc.pool == "":
		doc.add(nil, "metadata.name: is missing: must name the pool of an earlier layer that this changes", "")
	case change.removes && spec != doc.root:
		doc.add(spec, "spec: the annotation "+v1.LayerAnnotation+" removes the pool, and there is nothing else to say of it", "leave spec out")
	default:
		if l.changes == nil {
			l.changes = map[string][]layerChange{}
		}
		l.changes[doc.pool] = append(l.changes[doc.pool], change)
	}
	return true
}

// misplaced returns what is wrong with an annotation in the current layer.
func (l *loader) misplaced(says string) (problem, hint string) {
	switch {
	case says == "":
	case len(l.layers) == 0:
		return "the folder is not read in layers", "name its layers where the folder is named, or leave the annotation out"
	case says != layerAdds && says != layerRemoves:
		return "must be " + layerAdds + " or " + layerRemoves + ", and is " + quoted(says), ""
	case says == layerRemoves && l.layer == 0:
		return "there is no layer before " + l.layers[0] + " that it could remove the pool of", "leave the document out"
	}
	return "", ""
}

// apply changes an open definition as the layers after it say, and reports whether the
// pool is still there.
func (l *loader) apply(definition *document) (remains bool) {
	changes := l.changes[definition.pool]
	delete(l.changes, definition.pool)
	slices.SortStableFunc(changes, func(a, b layerChange) int { return cmp.Compare(a.layer, b.layer) })
	for i, change := range changes {
		if !change.removes {
			definition.change(&document{file: change.file, text: change.text, report: definition.report}, l.layers[change.layer])
			continue
		}
		for _, after := range changes[i+1:] {
			l.report.add(after.problem(definition.pool, "the pool is removed in "+change.name.String()+": there is nothing left to change",
				"to define it anew, annotate it with "+v1.LayerAnnotation+": "+layerAdds))
		}
		return false
	}
	return true
}

// changesOfNothing reports the changes of pools that no earlier layer defines.
func (l *loader) changesOfNothing() {
	if l.incomplete {
		return // their definitions may be in what could not be read
	}
	names := make([]string, 0, len(l.pools))
	for _, pool := range l.pools {
		names = append(names, pool.Pool.Name)
	}
	for _, pool := range slices.Sorted(maps.Keys(l.changes)) {
		hint := "to define a pool in this layer, annotate it with " + v1.LayerAnnotation + ": " + layerAdds
		if len(names) <= maxSuggestNames && !l.report.full() {
			if near := Nearest(pool, names); near != "" {
				hint = didYouMean(near) + "; " + hint
			}
		}
		for _, change := range l.changes[pool] {
			l.report.add(change.problem(pool, "no earlier layer has a pool of this name", hint))
		}
	}
}

func (c *layerChange) problem(pool, message, hint string) Problem {
	return Problem{File: c.name.file, Line: c.name.line, Column: c.name.column, Pool: pool, Message: "pool " + quoted(pool) + ": " + message, Hint: hint}
}
