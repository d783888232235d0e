package plan

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// Of pools of equal priority the oldest goes first: where they want one key at different
// values, where the changes of one wait for the rollout of another, and where a node has no
// room for all of their annotations. A time of creation has whole seconds. A plan takes new
// pools for younger than those that are there, and for created in the order of their names.
// So that they are, those of which it makes a difference are created one after the other,
// and later than the pools that they must not go before.

// order marks, among the changes that create pools, those of which it makes a difference.
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
	chains := map[*PoolChange]*PoolChange{}
	for _, all := range claimsOf(after, created) {
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

// claimsOf are what pools may contend for, those in created among them.
func claimsOf(pools []*v1.NodePool, created map[string]*PoolChange) map[claimed]*claimants {
	claims := map[claimed]*claimants{}
	claim := func(pool *v1.NodePool, what claimed, value string) *claimants {
		all := claims[what]
		if all == nil {
			all = &claimants{value: value}
			claims[what] = all
		}
		all.differ = all.differ || all.value != value
		if change := created[pool.Name]; change != nil {
			all.created = append(all.created, change)
		} else if latest := pool.CreationTimestamp; latest.After(all.latest.Time) {
			all.latest = latest
		}
		return all
	}
	for _, pool := range pools {
		for key, value := range wantedBy(pool) {
			claim(pool, key, value)
		}
		turn := claim(pool, claimed{priority: pool.Spec.Priority}, "")
		for key, value := range pool.Spec.Annotations {
			turn.annotations += len(key) + len(value)
		}
		turn.differ = turn.differ || pool.Spec.Rollout != nil || turn.annotations > contendedRoom
	}
	return claims
}

// contendedRoom is from how many bytes of annotations on, of all pools of a priority, some
// may not fit on a node: far less than a node has room for, as there are those of others.
const contendedRoom = maxAnnotations / 4

// claimed is a key, and the priority at which pools want it; without a key, it is to go
// before others of that priority.
type claimed struct {
	priority int32
	field    Field
	key      string
}

// claimants are those who want it.
type claimants struct {
	value  string
	differ bool // not all want this value, or it makes a difference who goes first
	// annotations are the bytes of the annotations of those who want to go first.
	annotations int
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
