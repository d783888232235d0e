package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// A Change is a field of a pool that a later layer set or removed.
type Change struct {
	// Field is its path, such as spec.labels[tier] or spec.taints[gpu:NoSchedule].
	Field string
	// Layer is the folder, and File and Line are the position of what it says.
	Layer, File string
	Line        int
	// Removed is set where the layer took the field away.
	Removed bool
}

// change applies the document of a later layer to an open definition. Libraries that
// merge YAML do not know the position of what they merged, take no aliases, and match
// the items of a list by those keys that happen to be there: a taint without an effect
// would change another one.
func (d *document) change(by *document, layer string) {
	if !by.open() {
		return // its problems were reported when it was read first
	}
	p := &patcher{into: d, layer: layer, left: maxNodes}
	if d.origins == nil {
		d.origins = map[*yaml.Node]*document{}
	}
	p.origin(by.root, by)
	d.root = p.mapping(d.root, by.root, nil)
	d.nodes += maxNodes - p.left
}

// A patcher applies one document to another. Nodes that it creates have the position
// of those they stand for; all others keep theirs.
type patcher struct {
	into  *document
	layer string
	// left is the number of keys and values that may still be read.
	left int
}

// origin records the document that all nodes below one come from.
func (p *patcher) origin(node *yaml.Node, from *document) {
	p.into.origins[node] = from
	for _, child := range node.Content {
		p.origin(child, from)
	}
}

func (p *patcher) spend() bool {
	p.left--
	if p.left == 0 {
		p.into.add(nil, fmt.Sprintf("the document has more than %d keys and values once its aliases are written out and its layers are applied", maxNodes), "")
	}
	return p.left > 0
}

func (p *patcher) entries(node *yaml.Node) []entry {
	return flatten(node, p.spend, p.into.add)
}

// identity are the fields by which a document is known as a change of a pool.
var identity = map[string]bool{"apiVersion": true, "kind": true, "metadata.name": true, layerAnnotationPath: true}

// merged are the maps that are merged by their keys, and whether the keys are a user's
// own and not fields. Whatever else is there is replaced.
var merged = map[string]bool{
	"": false, "metadata": false, "metadata.labels": true, "metadata.annotations": true,
	"spec": false, "spec.labels": true, "spec.annotations": true, "spec.selector": false, "spec.selector.matchLabels": true,
	"spec.rollout": false,
}

// mapping returns a map with the entries of both: those of by replace those of old,
// which is nil where no earlier layer has the map.
func (p *patcher) mapping(old, by *yaml.Node, path *field.Path) *yaml.Node {
	result := p.like(old, by)
	changes := p.entries(by)
	at := make(map[string]int, len(changes))
	for i, change := range changes {
		at[resolved(change.key).Value] = i
	}
	put := func(e entry, remains bool) {
		if remains {
			result.Content = append(result.Content, e.key, e.value)
		}
	}
	if old != nil {
		for _, e := range p.entries(old) {
			name := resolved(e.key).Value
			i, found := at[name]
			if found {
				delete(at, name)
			}
			if inside := within(path, name); found && !identity[inside.String()] {
				put(p.entry(&e, changes[i], inside))
			} else {
				put(e, true)
			}
		}
	}
	for i, change := range changes {
		name := resolved(change.key).Value
		if j, left := at[name]; left && i == j && !identity[within(path, name).String()] {
			put(p.entry(nil, change, within(path, name)))
		}
	}
	return result
}

// within returns the path of a key of a map.
func within(path *field.Path, name string) *field.Path {
	switch {
	case path == nil:
		return field.NewPath(name)
	case merged[path.String()]:
		return path.Key(name)
	}
	return path.Child(name)
}

// like returns an empty map in the position of old, or of by where there is none.
func (p *patcher) like(old, by *yaml.Node) *yaml.Node {
	if old == nil {
		old = by
	}
	node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: old.Line, Column: old.Column}
	if from, found := p.into.origins[old]; found {
		p.into.origins[node] = from
	}
	return node
}

// entry returns what an entry becomes, and reports whether it is still there. The old
// one is nil where no earlier layer has the key.
func (p *patcher) entry(old *entry, by entry, path *field.Path) (entry, bool) {
	value := resolved(by.value)
	_, isMap := merged[path.String()]
	isMap = isMap && value.Kind == yaml.MappingNode
	isTaints := path.String() == "spec.taints" && value.Kind == yaml.SequenceNode
	switch {
	case isNull(value) && value.Value == "", (isMap || isTaints) && len(value.Content) == 0:
		p.into.add(by.key, path.String()+": is empty, and changes nothing", "write null to remove what earlier layers set, or leave it out")
	case isNull(value) && old == nil:
		p.into.add(by.key, path.String()+": no earlier layer sets it: there is nothing to remove", "")
	case isNull(value):
		p.record(path, by.key, true)
	case isMap:
		before, key := (*yaml.Node)(nil), by.key
		if old != nil && resolved(old.value).Kind == yaml.MappingNode {
			before, key = resolved(old.value), old.key
		}
		return entry{key, p.mapping(before, value, path)}, true
	case isTaints:
		return p.taints(old, by, path), true
	default:
		p.record(path, by.key, false)
		return by, true
	}
	return entry{}, false
}

// record keeps the last change of a field. What is removed takes along what was in it.
func (p *patcher) record(path *field.Path, at *yaml.Node, removed bool) {
	if removed {
		maps.DeleteFunc(p.into.changes, func(changed string, _ Change) bool {
			rest, inside := strings.CutPrefix(changed, path.String())
			return inside && rest != "" && strings.Contains(".[", rest[:1])
		})
	}
	found := p.into.position(at)
	if p.into.changes == nil {
		p.into.changes = map[string]Change{}
	}
	p.into.changes[path.String()] = Change{Field: path.String(), Layer: p.layer, File: found.file, Line: found.line, Removed: removed}
}

// changed returns the changes of all layers, sorted by field.
func (d *document) changed() []Change {
	return slices.SortedFunc(maps.Values(d.changes), func(a, b Change) int { return strings.Compare(a.Field, b.Field) })
}
