package render

import "sync"

// agreements are what pools that have a node in common want of it together.
// That depends on nothing else of the node, and thousands of nodes are in the
// same few sets of pools, so each is worked out once.
type agreements struct {
	mu   sync.RWMutex
	kept map[string]Desired
}

// maxAgreements bounds what is kept. Nodes that choose their own labels may be
// in any sets of pools; those beyond are worked out each time.
const maxAgreements = 1024

// of tells what these pools, sorted by name, want of the nodes that are in all
// of them and in no others.
func (a *agreements) of(pools []*pool) Desired {
	key := make([]byte, 0, 256) // the names, which have no / in them
	for _, p := range pools {
		key = append(append(key, p.name...), '/')
	}
	a.mu.RLock()
	desired, known := a.kept[string(key)]
	a.mu.RUnlock()
	if known {
		return desired
	}
	desired = agree(pools)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept == nil {
		a.kept = map[string]Desired{}
	}
	if len(a.kept) < maxAgreements {
		a.kept[string(key)] = desired
	}
	return desired
}

// agree works it out.
func agree(pools []*pool) Desired {
	active := make([]*pool, 0, len(pools))
	for _, p := range pools {
		if !p.paused {
			active = append(active, p)
		}
	}
	return Desired{
		Pools:       namesOf(pools),
		Labels:      settle(active, func(p *pool) map[string]string { return p.labels }),
		Annotations: settle(active, func(p *pool) map[string]string { return p.annotations }),
		Taints:      settle(active, func(p *pool) map[TaintID]string { return p.taints }),
	}
}
