package render

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// patchDirective in a taint of a layer says what is done with the taint. kubectl and
// kustomize have it too.
const (
	patchDirective = "$patch"
	patchDeletes   = "delete"
)

// taints returns a list of taints in which those of by replace those of the same key
// and effect.
func (p *patcher) taints(old *entry, by entry, path *field.Path) entry {
	list := &taintList{at: map[string]int{}}
	if old != nil && resolved(old.value).Kind == yaml.SequenceNode {
		for _, item := range resolved(old.value).Content {
			list.add(p.taint(item).id, item)
		}
	}
	seen := map[string]bool{}
	for i, item := range resolved(by.value).Content {
		if taint := p.taint(item); p.left > 0 {
			p.putTaint(list, taint, item, path, path.Index(i), seen)
		}
	}
	result := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: by.value.Line, Column: by.value.Column}
	result.Content = slices.DeleteFunc(list.items, func(item *yaml.Node) bool { return item == nil })
	p.into.origins[result] = p.into.origins[by.value]
	return entry{by.key, result}
}

// putTaint applies one item to a list. Validation reports what is wrong with an item
// that is no taint, or has no key or effect.
func (p *patcher) putTaint(list *taintList, taint taintOfLayer, item *yaml.Node, path, index *field.Path, seen map[string]bool) {
	at, found := list.at[taint.id]
	switch {
	case seen[taint.id]:
		p.into.add(item, index.String()+": the layer has the taint "+quoted(taint.id)+" twice", "keep one of the two")
		return
	case taint.directive != "" && taint.directive != patchDeletes:
		p.into.add(item, index.String()+"."+patchDirective+": must be "+patchDeletes+", and is "+quoted(taint.directive), "")
		return
	case taint.directive == patchDeletes && !found:
		p.into.add(item, index.String()+": no earlier layer has the taint "+quoted(taint.id)+": there is nothing to remove", "")
		return
	case taint.directive == patchDeletes:
		list.items[at] = nil
	case found:
		list.items[at] = item
	default:
		list.add(taint.id, item)
	}
	seen[taint.id] = true
	p.record(path.Key(taint.id), item, taint.directive == patchDeletes)
}

// A taintList is a list of taints with the index of each by key and effect; nil
// stands for one that was removed.
type taintList struct {
	items []*yaml.Node
	at    map[string]int
}

func (l *taintList) add(id string, item *yaml.Node) {
	if _, found := l.at[id]; !found {
		l.at[id] = len(l.items)
	}
	l.items = append(l.items, item)
}

// A taintOfLayer is which taint an item is, as key:effect, and what is done with it.
type taintOfLayer struct{ id, directive string }

// taint reads an item. Its faults are reported when the merged list is decoded.
func (p *patcher) taint(item *yaml.Node) taintOfLayer {
	var key, effect, directive string
	for _, e := range flatten(resolved(item), p.spend, func(*yaml.Node, string, string) {}) {
		if resolved(e.value).Kind != yaml.ScalarNode {
			continue
		}
		switch text := resolved(e.value).Value; resolved(e.key).Value {
		case "key":
			key = text
		case "effect":
			effect = text
		case patchDirective:
			directive = text
		}
	}
	return taintOfLayer{id: key + ":" + effect, directive: directive}
}
