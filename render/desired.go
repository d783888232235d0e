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
	// Pool is the name of the pool that the value comes from. Where several of the
	// highest priority agree on it, it is the one whose policy goes furthest: a
	// pool that only reports conflicts does not weaken the policy of another.
	Pool string
	// Policy of that pool towards a value that somebody else has set.
	Policy v1.ConflictPolicy
	// Agreeing are the other pools that want this very value, sorted by name.
	// They do not get it either where somebody else holds the key. Many keys share
	// the list, which must not be changed.
	Agreeing []string
	// Younger are the pools of the same priority that want another value, sorted by
	// name. They do not get it, because Oldest was created before them; both are
	// empty where there are none. Oldest wants Value, and is Pool or one of
	// Agreeing.
	Younger []Claim
	Oldest  string
	// Contenders, Pool and Agreeing are those that a pool which has this key is compared with:
	// if it loses the key to none of them, it loses it to nobody. They are the pools that the
	// one which decided the value overrides, and of those that are not nested with it, or with
	// one of these, the strongest.
	Contenders []string
	// Unheard are the pools within the one that decided the value that want this key, and are
	// too weak to override it: Third, which may be paused, is stronger than they are.
	Unheard []string
	Third   string
	// Rank is the position of the pool that decided the value among all pools, the
	// strongest first: by priority, then by age, then by name.
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
