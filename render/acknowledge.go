package render

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// An entry of the annotation [v1.AcknowledgeSelfJoinAnnotation] is a field by
// which nodes can join a pool, or attract its pods, by themselves, a colon, and
// a key or pattern of that field. A selector that only nodes with a protected
// label match has a kind of its own: its acknowledgement must not cover the key
// without that label.
const (
	bySelector          = "selector:"
	byProtectedSelector = "protectedSelector:"
	byNames             = "nodeNames:"
	byLabels            = "labels:"
)

// Acknowledged returns the entries that the annotation of a pool has.
func Acknowledged(pool *v1.NodePool) map[string]bool {
	entries := map[string]bool{}
	for _, entry := range acknowledged(pool) {
		entries[entry] = true
	}
	return entries
}

func acknowledged(pool *v1.NodePool) []string {
	entries := strings.Fields(pool.Annotations[v1.AcknowledgeSelfJoinAnnotation])
	for i := range entries {
		entries[i] = strings.TrimRight(entries[i], ",")
	}
	return entries
}

// SelfJoins returns the entries that the annotation of a pool may have:
// everything by which nodes can join the pool by themselves and, where the pool
// is meant as a wall, attract its pods.
func SelfJoins(pool *v1.NodePool) []string {
	entries := slices.Concat(prefixed(byKeys(pool), SelfJoinKeys(pool)), prefixed(byNames, SelfJoinPatterns(pool)))
	if choosesByProtected(pool) {
		entries = append(entries, prefixed(byLabels, OpenLabels(pool))...)
	}
	return entries
}

// byKeys returns the prefix of the entries for the keys of a pool's selector.
func byKeys(pool *v1.NodePool) string {
	if requiresProtected(pool) {
		return byProtectedSelector
	}
	return bySelector
}

// maxSuggestSelfJoins is the number of entries up to which an unknown one is
// compared with each of them to suggest the one that was meant.
const maxSuggestSelfJoins = 20

// checkAcknowledged reports acknowledgements of what the pool does not have.
// They would cover what somebody adds later, unaware of them.
func (d *document) checkAcknowledged(pool *v1.NodePool) {
	if _, found := pool.Annotations[v1.AcknowledgeSelfJoinAnnotation]; !found {
		return
	}
	at := field.NewPath("metadata", "annotations").Key(v1.AcknowledgeSelfJoinAnnotation).String()
	node := locate(d.root, at)
	possible, entries := SelfJoins(pool), acknowledged(pool)
	known := make(map[string]bool, len(possible))
	for _, entry := range possible {
		known[entry] = true
	}
	some := strings.Join(possible[:min(len(possible), maxSuggestSelfJoins)], " ")
	switch {
	case len(possible) == 0:
		d.add(node, at+": nodes cannot join the pool by themselves: there is nothing to acknowledge", "leave it out")
		return
	case len(entries) == 0:
		d.add(node, at+": is empty: must name what is acknowledged, of "+some, "")
	}
	for _, entry := range entries {
		if known[entry] {
			continue
		}
		d.addFunc(func() (*yaml.Node, string, string) {
			hint := ""
			if len(possible) <= maxSuggestSelfJoins {
				if near := Nearest(entry, possible); near != "" {
					hint = didYouMean(near)
				}
			}
			return node, at + ": " + quoted(entry) + " is nothing by which nodes can join the pool by themselves: must be of " + some, hint
		})
	}
}
