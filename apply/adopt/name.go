package adopt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// roleField is that of a role among the features by which a pool is named.
const roleField plan.Field = "role"

// mostWords is how many features a name is made of. Names that are equal all
// the same get a number.
const mostWords = 4

// longestName leaves space for a number at the end.
const longestName = validation.DNS1123LabelMaxLength - 8

// namer names pools after what their nodes have and other pools do not.
type namer struct {
	used map[string]bool
	// next is the number that comes behind a name which is used.
	next map[string]int
	// features are those of each pool of which its name may still be made, and words
	// what it is made of.
	features [][]feature
	words    [][]string
}

// newNamer names the pools of groups. No name is that of a pool that exists, and none
// is a role that a node has: it would make the node look like a member.
func newNamer(owned []ownPool, s *survey) *namer {
	n := &namer{
		used: map[string]bool{"control-plane": true, "master": true}, next: map[string]int{},
		features: make([][]feature, len(owned)), words: make([][]string, len(owned)),
	}
	for name := range s.taken {
		n.used[name] = true
	}
	for _, node := range s.nodes {
		for key := range node.labels {
			if role, isRole := strings.CutPrefix(key, v1.RoleLabelPrefix); isRole {
				n.used[role] = true
			}
		}
	}
	alike := make([]int, len(owned))
	for i, own := range owned {
		alike[i] = i
		n.features[i] = slices.Clone(own.group.features)
		for _, role := range own.roles {
			n.features[i] = append(n.features[i], feature{field: roleField, key: role})
		}
	}
	n.disambiguate(alike, mostWords)
	return n
}

// name is that of the pool at a position.
func (n *namer) name(at int) string { return n.unique(n.said(at)) }

func (n *namer) said(at int) string { return strings.Join(n.words[at], "-") }

// disambiguate adds words to pools whose names are equal so far: for each pool,
// what the fewest of the others have. It iterates over the features of every
// pool once for each word.
func (n *namer) disambiguate(alike []int, words int) {
	if words == 0 || len(alike) == 1 && n.said(alike[0]) != "" && !n.used[n.said(alike[0])] {
		return
	}
	carriers := map[feature]int{}
	for _, at := range alike {
		for _, f := range n.features[at] {
			carriers[f]++
		}
	}
	named := map[string][]int{}
	for _, at := range alike {
		distinguishes := func(f feature) bool {
			return carriers[f] < len(alike) || len(alike) == 1 || len(n.words[at]) == 0
		}
		best := -1
		for i, f := range n.features[at] {
			if distinguishes(f) && (best < 0 || compareDistinct(f, n.features[at][best], carriers) < 0) {
				best = i
			}
		}
		if best < 0 {
			continue // it has less than the others, and they get the words
		}
		n.add(at, n.features[at][best])
		n.features[at] = slices.Delete(n.features[at], best, best+1)
		named[n.said(at)] = append(named[n.said(at)], at)
	}
	for _, still := range named {
		n.disambiguate(still, words-1)
	}
}

// add adds the word of a feature to the name of a pool, where it fits.
func (n *namer) add(at int, f feature) {
	word := wordOf(f)
	if word != "" && !slices.Contains(n.words[at], word) && len(n.said(at))+1+len(word) <= longestName {
		n.words[at] = append(n.words[at], word)
	}
}

// compareDistinct orders first what distinguishes a pool from all others, then
// what people use to name pools, then what few pools have.
func compareDistinct(a, b feature, carriers map[feature]int) int {
	return cmp.Or(
		cmp.Compare(min(carriers[a], 2), min(carriers[b], 2)),
		cmp.Compare(usual(a), usual(b)),
		cmp.Compare(carriers[a], carriers[b]),
		compareFeatures(a, b),
	)
}

// unique is a name that no other pool has.
func (n *namer) unique(name string) string {
	if name == "" {
		name = "nodes"
	}
	free := name
	for n.used[free] {
		n.next[name] = max(n.next[name], 1) + 1
		free = fmt.Sprintf("%s-%d", name, n.next[name])
	}
	n.used[free] = true
	return free
}

// usualKeys are the names, without the domain, of keys by which people distinguish pools.
var usualKeys = []string{
	"pool", "nodepool", "node-pool", "nodegroup", "node-group", "dedicated", "role", "tier", "team", "tenant", "workload", "purpose", "type", "class", "group",
}

// usual is how usual it is to name a pool by a feature; less is more so.
func usual(f feature) int {
	at := slices.Index(usualKeys, keyName(f))
	switch {
	case at >= 0:
		return at
	case f.field == plan.Taint:
		return len(usualKeys)
	case f.field == plan.Label:
		return len(usualKeys) + 1
	}
	return len(usualKeys) + 2
}

// keyName is the name of a key without its domain, in lower case.
func keyName(f feature) string {
	name := f.name()
	return strings.ToLower(name[strings.LastIndex(name, "/")+1:])
}

// plainValues say no more than that the key is there.
var plainValues = []string{"", "1", "true", "yes", "on", "enabled", "present"}

// wordOf is what a feature adds to the name of a pool.
func wordOf(f feature) string {
	key, value := keyName(f), strings.ToLower(f.value)
	switch {
	case f.field == roleField, slices.Contains(plainValues, value):
		return toName(key)
	case slices.Contains(usualKeys, key) && len(value) > 2 && strings.ContainsAny(value, "abcdefghijklmnopqrstuvwxyz"):
		return toName(value)
	case toName(value) == "", strings.HasSuffix(key, value):
		return toName(key)
	}
	return toName(key + "-" + value)
}

// toName makes the name of an object of a text.
func toName(text string) string {
	parts := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	name := strings.Join(parts, "-")
	return strings.TrimRight(name[:min(len(name), longestName)], "-")
}
