package impact

import (
	"slices"
	"strings"
)

// groups are the entries of a list, by what is the same of all that one of them lists.
type groups[K comparable, E any] map[K]*E

// of returns the entry of a key: at first the given one, from then on that with what was
// added to it.
func (g groups[K, E]) of(key K, entry E) *E {
	if g[key] == nil {
		g[key] = &entry
	}
	return g[key]
}

// list returns the entries in an order, each finished.
func (g groups[K, E]) list(finish func(*E), compare func(a, b E) int) []E {
	list := make([]E, 0, len(g))
	for _, entry := range g {
		finish(entry)
		list = append(list, *entry)
	}
	slices.SortFunc(list, compare)
	return list
}

// groupKey returns the same text for entries that are listed in one line.
func groupKey(of Workload, texts ...string) string {
	var key strings.Builder
	writeTexts(&key, of.Group, of.Namespace, of.Kind, of.Name)
	writeTexts(&key, texts...)
	return key.String()
}
