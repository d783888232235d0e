package render

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// An entry is a key of a map with its value.
type entry struct{ key, value *yaml.Node }

// flatten returns the entries of a map with its merge keys (<<) written out:
// the map's own keys override those that it merges, and maps merged first
// override later ones. It returns early when spend returns false. A node that
// is not a map has no entries.
func flatten(node *yaml.Node, spend func() bool, complain func(at *yaml.Node, message, hint string)) []entry {
	f := flattener{spend: spend, complain: complain}
	if len(node.Content) > 2*linearSearch {
		f.seen = make(map[string]bool, len(node.Content)/2)
	}
	f.add(node, 0)
	return f.entries
}

// entriesOf is flatten for a map whose faults have been reported already.
func entriesOf(node *yaml.Node) []entry {
	left := maxNodes
	return flatten(node, func() bool { left--; return left > 0 }, func(*yaml.Node, string, string) {})
}

// linearSearch is the number of keys up to which comparing with each is faster
// than a hash map.
const linearSearch = 16

type flattener struct {
	entries  []entry
	seen     map[string]bool
	spend    func() bool
	complain func(at *yaml.Node, message, hint string)
}

func (f *flattener) has(key string) bool {
	if f.seen != nil {
		return f.seen[key]
	}
	for _, entry := range f.entries {
		if resolved(entry.key).Value == key {
			return true
		}
	}
	return false
}

func (f *flattener) push(key string, e entry) {
	f.entries = append(f.entries, e)
	if f.seen == nil && len(f.entries) > linearSearch {
		f.seen = map[string]bool{}
		for _, earlier := range f.entries {
			f.seen[resolved(earlier.key).Value] = true
		}
	}
	if f.seen != nil {
		f.seen[key] = true
	}
}

func (f *flattener) add(node *yaml.Node, merges int) {
	if node.Kind != yaml.MappingNode {
		return
	}
	before := len(f.entries)
	var merge *entry
	for i := 0; i+1 < len(node.Content); i += 2 {
		if !f.spend() {
			return
		}
		e := entry{key: node.Content[i], value: node.Content[i+1]}
		key := resolved(e.key)
		switch {
		case key.Kind != yaml.ScalarNode:
			f.complain(e.key, "a key must be text, and is "+describe(key), "")
		case isMerge(key) && merge != nil, !isMerge(key) && f.within(before, key.Value):
			f.complain(e.key, "the key "+quoted(key.Value)+" appears twice", "keep one of the two")
		case isMerge(key):
			merge = &e
		case !f.has(key.Value):
			f.push(key.Value, e)
		}
	}
	if merge != nil {
		f.merge(merge.key, merge.value, merges+1)
	}
}

// within reports whether one of the entries from the given one on has the key.
// Only the entries of the current map can be duplicates.
func (f *flattener) within(from int, key string) bool {
	if from == 0 {
		return f.has(key)
	}
	if !f.has(key) {
		return false
	}
	for _, entry := range f.entries[from:] {
		if !f.spend() {
			return false
		}
		if resolved(entry.key).Value == key {
			return true
		}
	}
	return false
}

func (f *flattener) merge(at, value *yaml.Node, merges int) {
	maps := []*yaml.Node{value}
	if resolved(value).Kind == yaml.SequenceNode {
		maps = resolved(value).Content
	}
	if merges > maxDepth {
		f.complain(at, "merges itself, or too many others", "")
		return
	}
	for _, each := range maps {
		if !f.spend() {
			return
		}
		if each = resolved(each); each.Kind != yaml.MappingNode {
			f.complain(at, "<< merges maps, and this is "+describe(each), "")
			continue
		}
		f.add(each, merges)
	}
}
