package render

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Desired is what the pools want of one node. It does not depend on the live
// state of the node; package plan compares the two.
type Desired struct {
	// Pools are the names of the pools that the node is in, sorted.
	Pools []string

	// The desired keys of the node.
	Labels      map[string]Want
	Annotations map[string]Want
	Taints      map[TaintID]Want
}

// Want is the value that a pool wants for one key of a node.
type Want struct {
	Value string
	// Pool is the first pool by rank that wants the key.
	Pool string
	// Policy of that pool towards a value that somebody else has set.
	Policy v1.ConflictPolicy
	// Agreeing are the other pools that want this very value, sorted by name.
	// They do not get it either where somebody else holds the key. Many keys share
	// the list, which must not be changed.
	Agreeing []string
	// Younger are the pools of the same priority that want another value, sorted by
	// name. They do not get it, because Pool was created before them.
	Younger []Claim
	// Rank is the position of Pool among all pools.
	Rank int
}

// Claim is the value that one of several pools wants.
type Claim struct {
	Pool  string
	Value string
}

// TaintID identifies a taint: the API server requires that the taints of a node
// are unique by key and effect.
type TaintID struct {
	Key    string
	Effect corev1.TaintEffect
}

func (id TaintID) String() string { return id.Key + ":" + string(id.Effect) }

// MarshalText writes the taint as kubectl taint does: key:effect.
func (id TaintID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (id *TaintID) UnmarshalText(text []byte) error {
	key, effect, found := strings.Cut(string(text), ":")
	if !found || key == "" || effect == "" {
		return fmt.Errorf("taint %q is not of the form key:effect", text)
	}
	id.Key, id.Effect = key, corev1.TaintEffect(effect)
	return nil
}
