package render

import (
	"sync"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// agreements caches what a set of pools wants of a node that is in all of them.
// That depends on nothing else of the node, and thousands of nodes are in the
// same few sets of pools, so each set is computed once.
type agreements struct {
	mu   sync.RWMutex
	kept map[string]Desired
	// size of all entries, in keys and names of pools.
	size int
}

// maxAgreements bounds the number of entries, and maxAgreementsSize their size,
// in keys and names of pools of some 50 bytes each. Nodes that choose their own
// labels may be in any sets of pools; sets beyond the bounds are computed each
// time.
const (
	maxAgreements     = 1024
	maxAgreementsSize = 1 << 19
)

// of returns what these pools, sorted by name, want of the nodes that are in
// all of them and in no others.
func (a *agreements) of(pools []*pool) Desired {
	key := make([]byte, 0, 256) // the names, which contain no /
	for _, p := range pools {
		key = append(append(key, p.name...), '/')
	}
	a.mu.RLock()
	desired, known := a.kept[string(key)]
	a.mu.RUnlock()
	if known {
		return desired
	}
	desired, size := agree(pools)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept == nil {
		a.kept = map[string]Desired{}
	}
	if _, known := a.kept[string(key)]; !known && len(a.kept) < maxAgreements && a.size+size <= maxAgreementsSize {
		a.kept[string(key)] = desired
		a.size += size
	}
	return desired
}

// agree computes an agreement and its size.
func agree(pools []*pool) (desired Desired, size int) {
	lists := &sharedNames{known: map[string][]string{}}
	desired = Desired{
		Pools:       namesOf(pools),
		Labels:      settle(pools, each(pools, (*pool).labels), lists),
		Annotations: settle(pools, each(pools, (*pool).annotations), lists),
		Taints:      settle(pools, each(pools, (*pool).taints), lists),
	}
	size = len(pools) + lists.names + sizeOfWants(desired.Labels) + sizeOfWants(desired.Annotations) + sizeOfWants(desired.Taints)
	return desired, size
}

// sizeOfWants counts keys, and the pools that lose them.
func sizeOfWants[K comparable](wants map[K]Want) int {
	size := len(wants)
	for _, want := range wants {
		size += len(want.Younger)
	}
	return size
}

// each calls keys once for every pool, and returns a function that looks up the result.
func each[K comparable](pools []*pool, keys func(*pool) map[K]string) func(*pool) map[K]string {
	all := make(map[*pool]map[K]string, len(pools))
	for _, p := range pools {
		all[p] = keys(p)
	}
	return func(p *pool) map[K]string { return all[p] }
}

// labels, like annotations and taints, returns what the pool itself puts on a
// node. What it inherits, the enclosing pools put there, since its nodes are
// their members as well.
func (p *pool) labels() map[string]string {
	labels := make(map[string]string, len(p.definition.Spec.Labels)+1)
	if !membersByRole(p.definition) && !p.definition.IsRolloutPolicy() {
		labels[v1.RoleLabel(p.name)] = ""
	}
	for key, value := range p.definition.Spec.Labels {
		labels[key] = string(value)
	}
	return labels
}

func (p *pool) annotations() map[string]string {
	annotations := make(map[string]string, len(p.definition.Spec.Annotations))
	for key, value := range p.definition.Spec.Annotations {
		annotations[key] = string(value)
	}
	return annotations
}

func (p *pool) taints() map[TaintID]string {
	taints := make(map[TaintID]string, len(p.definition.Spec.Taints))
	for _, taint := range p.definition.Spec.Taints {
		taints[TaintID{taint.Key, taint.Effect}] = taint.Value
	}
	return taints
}
