package chart

import (
	"fmt"
	"reflect"

	"github.com/nodepools/nodepools/api/manifests"
)

// variant is what a list holds where a condition is met.
type variant struct {
	condition string
	list      []any
}

// options gives the container the arguments and ports that options of install change:
// each is there by the value for its option.
func (b *builder) options(fields map[string]any) error {
	containerOf := func(o manifests.Options) (map[string]any, error) {
		o.Namespace, o.Image = namespace, "image"
		deployment, err := tree(manifests.Deployment(o))
		if err != nil {
			return nil, err
		}
		return at(deployment, "spec", "template", "spec")["containers"].([]any)[0].(map[string]any), nil
	}
	webhook, err := containerOf(manifests.Options{Webhook: true})
	if err != nil {
		return err
	}
	for _, field := range []string{"args", "ports"} {
		var servings []variant
		for _, serving := range manifests.MetricsServings() {
			container, err := containerOf(manifests.Options{Metrics: serving})
			if err != nil {
				return err
			}
			servings = append(servings, variant{fmt.Sprintf("eq .Values.metrics.serving %q", serving), container[field].([]any)})
		}
		plain, with := fields[field].([]any), webhook[field].([]any)
		if len(with) < len(plain) || !reflect.DeepEqual(with[:len(plain)], plain) {
			return fmt.Errorf("%s: %v does not begin with %v", field, with, plain)
		}
		list, err := b.anyOf(servings)
		if err != nil {
			return err
		}
		more, err := b.items(".Values.webhook.enabled", with[len(plain):])
		if err != nil {
			return err
		}
		fields[field] = append(list, more...)
	}
	return nil
}

// anyOf returns one list for several: what all begin and end with, and between that the
// items of each under its condition.
func (b *builder) anyOf(variants []variant) ([]any, error) {
	first, shortest := variants[0].list, len(variants[0].list)
	for _, v := range variants {
		shortest = min(shortest, len(v.list))
	}
	same := func(item func(list []any) any) bool {
		for _, v := range variants {
			if !reflect.DeepEqual(item(v.list), item(first)) {
				return false
			}
		}
		return true
	}
	begin, end := 0, 0
	for begin < shortest && same(func(list []any) any { return list[begin] }) {
		begin++
	}
	for end < shortest-begin && same(func(list []any) any { return list[len(list)-1-end] }) {
		end++
	}
	list := append([]any{}, first[:begin]...)
	for _, v := range variants {
		items, err := b.items(v.condition, v.list[begin:len(v.list)-end])
		if err != nil {
			return nil, err
		}
		list = append(list, items...)
	}
	return append(list, first[len(first)-end:]...), nil
}

// items returns items of a list that are there under a condition.
func (b *builder) items(condition string, list []any) ([]any, error) {
	var all []any
	for _, object := range list {
		h, err := itemOf(condition, object)
		if err != nil {
			return nil, err
		}
		all = append(all, b.mark(h))
	}
	return all, nil
}
