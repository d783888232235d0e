package plan

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// Of pools of equal priority that want one key at different values the oldest wins,
// and a time of creation has whole seconds. A plan takes new pools for younger than
// those that are there, and for created in the order of their names. So that they
// are, those of which it makes a difference are created one after the other, and
// later than the pools that they must not go before.

// order marks, among the changes that create pools, those that contend for a key.
// Changes must be sorted by name, and after has all pools as they are to be.
func order(changes []PoolChange, after []*v1.NodePool) {
	created := map[string]*PoolChange{}
	for i := range changes {
		if changes[i].Action == Create {
			created[changes[i].Name] = &changes[i]
		}
	}
	if len(created) == 0 {
		return
	}
	claims := map[claimed]*claimants{}
	for _, pool := range after {
		for key, value := range wantedBy(pool) {
			all := claims[key]
			if all == nil {
				all = &claimants{value: value}
				claims[key] = all
			}
			all.differ = all.differ || all.value != value
			if change := created[pool.Name]; change != nil {
				all.created = append(all.created, change)
			} else if latest := pool.CreationTimestamp; latest.After(all.latest.Time) {
				all.latest = latest
			}
		}
	}
	chains := map[*PoolChange]*PoolChange{}
	for _, all := range claims {
		if !all.differ || len(all.created) == 0 {
			continue
		}
		first := chainOf(chains, all.created[0])
		for _, change := range all.created {
			if all.latest.After(change.NotBefore.Time) {
				change.NotBefore = all.latest
			}
			chains[chainOf(chains, change)] = first
		}
	}
	byChain := map[*PoolChange][]*PoolChange{}
	for i := range changes {
		if change := &changes[i]; change.Action == Create {
			chain := chainOf(chains, change)
			byChain[chain] = append(byChain[chain], change)
		}
	}
	for _, chain := range byChain {
		slices.SortFunc(chain, func(a, b *PoolChange) int { return cmp.Compare(a.Name, b.Name) })
		for i, change := range chain[1:] {
			change.CreateAfter = chain[i].Name
		}
	}
}

// claimed is a key, and the priority at which pools want it.
type claimed struct {
	priority int32
	field    Field
	key      string
}

// claimants are those who want it.
type claimants struct {
	value  string
	differ bool // not all want this value
	// created are the changes that create one of them, latest is when the youngest
	// of the others was created.
	created []*PoolChange
	latest  metav1.Time
}

func wantedBy(pool *v1.NodePool) map[claimed]string {
	desired := render.Wanted(pool)
	wanted := make(map[claimed]string, len(desired.Labels)+len(desired.Annotations)+len(desired.Taints))
	for key, want := range desired.Labels {
		wanted[claimed{pool.Spec.Priority, Label, key}] = want.Value
	}
	for key, want := range desired.Annotations {
		wanted[claimed{pool.Spec.Priority, Annotation, key}] = want.Value
	}
	for id, want := range desired.Taints {
		wanted[claimed{pool.Spec.Priority, Taint, id.String()}] = want.Value
	}
	return wanted
}

// chainOf is the change that stands for all that a change is to be ordered with.
func chainOf(chains map[*PoolChange]*PoolChange, change *PoolChange) *PoolChange {
	for next := chains[change]; next != nil && next != change; next = chains[change] {
		if beyond := chains[next]; beyond != nil {
			chains[change] = beyond
		}
		change = next
	}
	return change
}
