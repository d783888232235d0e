package render

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A document is one YAML document of a file, and what is wrong with it.
type document struct {
	file string
	text documentText
	root *yaml.Node
	// pool is the name of the pool in it, as soon as it is known.
	pool string

	// origins has the document of each node that a later layer set, and changes what
	// they set or removed, by the path of the field.
	origins map[*yaml.Node]*document
	changes map[string]Change

	report   *report
	problems int
	// nodes is the number of keys and values that were read.
	nodes int
}

// open parses a document, and reports whether there is a pool in it. An empty
// document has none, and no problems.
func (d *document) open() bool {
	if !d.parse() || !d.isPool() {
		return false
	}
	d.pool = textAt(d.root, "metadata", "name")
	return true
}

// read returns the pool of an open document. It is named when the pool has a name,
// even if it has problems.
func (d *document) read() (pool placedPool, named bool) {
	m := manifest{}
	missing := d.decode(&m)
	delete(m.Metadata.Annotations, v1.LayerAnnotation) // it says what the document does, and nothing of the pool
	object := &v1.NodePool{Spec: m.Spec}
	object.APIVersion, object.Kind = v1.GroupVersion.String(), v1.NodePoolKind
	object.Name, object.Labels, object.Annotations = m.Metadata.Name, m.Metadata.Labels, m.Metadata.Annotations
	problems := append(validateMetadata(&m.Metadata), v1.ValidateNodePool(object)...)
	if rollout := object.Spec.Rollout; rollout != nil && reflect.ValueOf(*rollout).IsZero() { // the API server refuses it
		problems = append(problems, field.Required(field.NewPath("spec", "rollout"), "it must say something: leave it out to have all nodes follow at once"))
	}
	d.validate(problems, missing)
	pool = placedPool{
		Definition: Definition{Pool: object, File: d.file, Line: d.position(d.root).line, Changes: d.changed()},
		name:       d.position(locate(d.root, "metadata.name")),
		parent:     d.position(locate(d.root, "spec.parent")),
	}
	if d.problems == 0 {
		d.checkAcknowledged(object)
		if pool.size = sizeOf(object); pool.size > maxPoolBytes {
			d.add(nil, fmt.Sprintf("has %d KiB as it is stored, with every alias written out, and may have no more than %d", pool.size>>10, maxPoolBytes>>10), "divide it into several pools")
		}
	}
	if d.problems > 0 {
		// The problem may be its size, and no other field is needed.
		object.Spec = v1.NodePoolSpec{Parent: object.Spec.Parent}
		object.Labels, object.Annotations = nil, nil
		return pool, object.Name != ""
	}
	pool.Warnings = append(d.selfJoinWarnings(object), d.rolloutWarnings(object)...)
	return pool, object.Name != ""
}

// validate reports the errors of validation, except those that follow from
// fields that could not be read.
func (d *document) validate(errs field.ErrorList, missing unread) {
	// Validation walks maps in random order. Where there are more problems than
	// are reported, the same ones must be reported each time.
	slices.SortFunc(errs, func(a, b *field.Error) int {
		return cmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(a.Detail, b.Detail), strings.Compare(fmt.Sprint(a.BadValue), fmt.Sprint(b.BadValue)))
	})
	for _, err := range errs {
		if missing.explains(err) {
			continue
		}
		d.addFunc(func() (*yaml.Node, string, string) {
			at, path, written := blame(d.root, err)
			message, hint := inWords(err, written)
			return at, path + ": " + message, hint
		})
	}
}

// add reports a problem at a node. The path of the field is part of the
// message; add prepends the pool.
func (d *document) add(at *yaml.Node, message, hint string) {
	d.addFunc(func() (*yaml.Node, string, string) { return at, message, hint })
}

// addFunc is add for a problem whose text costs something to find: text is called
// only where the problem is shown. Others are counted.
func (d *document) addFunc(text func() (at *yaml.Node, message, hint string)) {
	d.problems++
	switch {
	case d.problems > maxDocumentProblems: // countOmitted reports these
	case d.report.full():
		d.report.count++
	default:
		d.report.add(d.problem(text()))
	}
}

func (d *document) problem(at *yaml.Node, message, hint string) Problem {
	if d.pool != "" {
		message = "pool " + quoted(d.pool) + ": " + message
	}
	found := d.position(at)
	return Problem{File: found.file, Line: found.line, Column: found.column, Pool: d.pool, Message: message, Hint: hint}
}

// countOmitted reports how many problems the document has, where not all are shown.
func (d *document) countOmitted() {
	if omitted := d.problems - maxDocumentProblems; omitted > 0 {
		more := d.problem(nil, fmt.Sprintf("%d problems in one document: the first %d are shown", d.problems, maxDocumentProblems), "")
		more.Omitted = omitted
		d.report.add(more)
	}
}

// position returns the position of a node in its file; that of the document's
// first line for nil.
func (d *document) position(node *yaml.Node) position {
	if node == nil {
		return position{file: d.file, line: d.text.line, column: 1}
	}
	if node.Kind == yaml.MappingNode && len(node.Content) > 0 {
		node = node.Content[0]
	}
	if from, found := d.origins[node]; found {
		return position{file: from.file, line: from.text.line + node.Line - 1, column: node.Column}
	}
	return position{file: d.file, line: d.text.line + node.Line - 1, column: node.Column}
}

// parse parses the text into d.root, and reports whether it has content.
func (d *document) parse() bool {
	if len(d.text.data) > maxDocumentBytes {
		d.add(nil, fmt.Sprintf("the document is larger than %d KiB", maxDocumentBytes>>10), "")
		return false
	}
	decoder := yaml.NewDecoder(bytes.NewReader(d.text.data))
	var tree yaml.Node
	switch err := decoder.Decode(&tree); {
	case errors.Is(err, io.EOF):
		return false
	case err != nil:
		d.syntax(err)
		return false
	}
	d.root = tree.Content[0]
	var second yaml.Node
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		d.syntax(err)
		return false
	default: // the parser finds a document that split does not; it must not be dropped
		d.add(second.Content[0], withoutMarker, markerHint)
		return false
	}
	if isNull(d.root) {
		return false // nothing, or nothing but comments
	}
	nodes := 0
	if tooDeep := measure(d.root, 1, &nodes); tooDeep != nil {
		d.add(tooDeep, fmt.Sprintf("nested more than %d deep", maxDepth), "")
		return false
	}
	if nodes > maxNodes {
		d.add(nil, fmt.Sprintf("the document has more than %d keys and values", maxNodes), "")
		return false
	}
	return true
}

// measure counts the nodes, and returns the first that is nested too deep. It
// does not follow aliases: they are counted when they are read.
func measure(node *yaml.Node, depth int, nodes *int) (tooDeep *yaml.Node) {
	*nodes++
	if depth > maxDepth {
		return node
	}
	for _, child := range node.Content {
		if tooDeep := measure(child, depth+1, nodes); tooDeep != nil {
			return tooDeep
		}
	}
	return nil
}
