package plan

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// Settled is what all nodes have followed of a pool last, as its status has it.
type Settled struct {
	Labels map[string]v1.LabelValue `json:"labels,omitempty"`
	Taints []v1.Taint               `json:"taints,omitempty"`
	// Members says who the members were: the nodes that the pool and all pools around it chose,
	// from the inside out.
	Members []MemberChoice `json:"members"`
}

// MemberChoice is by what a pool chooses nodes.
type MemberChoice struct {
	Selector  *v1.LabelSelector `json:"selector,omitempty"`
	NodeNames []string          `json:"nodeNames,omitempty"`
}

// SettledOf is that of the status of a pool; nil where it is not known.
func SettledOf(pool *v1.NodePool) *Settled {
	if pool.Status.Settled == nil {
		return nil
	}
	settled := &Settled{}
	if err := json.Unmarshal(pool.Status.Settled.Raw, settled); err != nil || len(settled.Members) == 0 {
		return nil // somebody else has written it
	}
	return settled
}

// settles is what is settled of a pool within others once all nodes follow it.
func settles(pool *v1.NodePool, around []*v1.NodePool) *Settled {
	settled := &Settled{Labels: pool.Spec.Labels, Taints: pool.Spec.Taints}
	for _, one := range append([]*v1.NodePool{pool}, around...) {
		settled.Members = append(settled.Members, MemberChoice{one.Spec.Selector, one.Spec.NodeNames})
	}
	return settled
}

// Settle notes in the status of a pool that all nodes have followed it, if a rollout says when
// nodes follow it.
func (r *Rollouts) Settle(status *v1.NodePoolStatus, pool *v1.NodePool, around []*v1.NodePool) {
	if r == nil || r.pools[pool.Name] == nil || !slices.ContainsFunc(r.ranked, func(one *rollout) bool {
		return one.orders() && one.governs(r.pools[pool.Name])
	}) {
		status.Settled = nil
		return
	}
	text, err := json.Marshal(settles(pool, around))
	if err != nil {
		panic(fmt.Sprintf("pool %s: %v", pool.Name, err)) // never: these are texts
	}
	var is, was any
	if status.Settled != nil && json.Unmarshal(status.Settled.Raw, &was) == nil && json.Unmarshal(text, &is) == nil && reflect.DeepEqual(is, was) {
		return // but for the order, which is the API server's
	}
	status.Settled = &runtime.RawExtension{Raw: text}
}

// settledMembers finds the members by what is settled; nil where these are the members by what
// pools say now. Pools around others are there by names that no pool can have.
func settledMembers(pools []*v1.NodePool, byName map[string]*v1.NodePool) *render.Expansion {
	var chosen []*v1.NodePool
	differs := false
	for _, pool := range pools {
		settled := SettledOf(pool)
		if settled == nil {
			continue
		}
		now := settles(pool, Around(pool, func(name string) *v1.NodePool { return byName[name] }))
		differs = differs || !pool.DeletionTimestamp.IsZero() || !reflect.DeepEqual(now.Members, settled.Members)
		for i, choice := range settled.Members {
			one := &v1.NodePool{}
			one.Name = pool.Name + strings.Repeat("/", i)
			one.Spec.Selector, one.Spec.NodeNames = choice.Selector, choice.NodeNames
			if i+1 < len(settled.Members) {
				one.Spec.Parent = one.Name + "/"
			}
			chosen = append(chosen, one)
		}
	}
	if !differs {
		return nil
	}
	return render.Expand(chosen)
}

// settledIn are the pools that a node is in by what is settled, sorted; nil where these are those by
// what pools say now.
func (r *Rollouts) settledIn(name string, labels map[string]string) []string {
	if r == nil || r.settled == nil {
		return nil
	}
	return slices.DeleteFunc(r.settled.Members(name, labels), func(pool string) bool { return strings.HasSuffix(pool, "/") })
}
