package main

import (
	"slices"
	"strings"

	"github.com/nodepools/nodepools/apply/plan"
)

// valueAt is the value of a key of a raw node; nil for none.
func valueAt(node map[string]any, field plan.Field, key string) *string {
	if field == plan.Taint {
		for _, taint := range taintsOf(node) {
			if taintKey(taint) == key {
				value, _ := taint["value"].(string)
				return &value
			}
		}
		return nil
	}
	values, _ := metadataOf(node)[string(field)+"s"].(map[string]any)
	value, found := values[key].(string)
	if !found {
		return nil
	}
	return &value
}

// setValue gives a key of a raw node a value, or takes it away. A taint that is
// new comes after those that are there.
func setValue(node map[string]any, field plan.Field, key string, value *string) {
	if field == plan.Taint {
		setTaint(node, key, value)
		return
	}
	name := string(field) + "s"
	values, _ := metadataOf(node)[name].(map[string]any)
	switch {
	case value == nil:
		delete(values, key)
	case values == nil:
		metadataOf(node)[name] = map[string]any{key: *value}
	default:
		values[key] = *value
	}
}

func setTaint(node map[string]any, key string, value *string) {
	taints := taintsOf(node)
	i := slices.IndexFunc(taints, func(taint map[string]any) bool { return taintKey(taint) == key })
	switch {
	case i >= 0 && value == nil:
		taints = slices.Delete(taints, i, i+1)
	case i < 0 && value != nil:
		name, effect, _ := cutLast(key, ":")
		taints = append(taints, map[string]any{"key": name, "effect": effect})
		i = len(taints) - 1
		fallthrough
	case value != nil:
		// Whatever else there is of the taint stays, its age above all.
		delete(taints[i], "value")
		if *value != "" {
			taints[i]["value"] = *value
		}
	}
	list := make([]any, 0, len(taints))
	for _, taint := range taints {
		list = append(list, taint)
	}
	spec, _ := node["spec"].(map[string]any)
	if spec == nil {
		spec = map[string]any{}
		node["spec"] = spec
	}
	spec["taints"] = list
	if len(list) == 0 {
		delete(spec, "taints")
	}
}

func taintsOf(node map[string]any) []map[string]any {
	spec, _ := node["spec"].(map[string]any)
	list, _ := spec["taints"].([]any)
	taints := make([]map[string]any, 0, len(list))
	for _, taint := range list {
		taints = append(taints, taint.(map[string]any))
	}
	return taints
}

func taintKey(taint map[string]any) string {
	return strings.Join([]string{taint["key"].(string), taint["effect"].(string)}, ":")
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}
