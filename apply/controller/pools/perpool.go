package pools

import "sync"

// perPool has a value for some pools, by name. It may be used by several workers.
type perPool[V any] struct {
	mu     sync.Mutex
	values map[string]V
}

// get returns the value of a pool, and whether there is one.
func (p *perPool[V]) get(pool string) (V, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	value, found := p.values[pool]
	return value, found
}

func (p *perPool[V]) set(pool string, value V) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.values == nil {
		p.values = map[string]V{}
	}
	p.values[pool] = value
}

// take removes the value of a pool and returns it.
func (p *perPool[V]) take(pool string) (V, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	value, found := p.values[pool]
	delete(p.values, pool)
	return value, found
}

func (p *perPool[V]) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.values)
}

// Kept is how many entries are kept in memory by the name of a pool; none of a pool that
// is gone.
func (r *Reconciler) Kept() int {
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	return len(r.progress.waiting) + r.written.len() + r.classes.len() + r.reported.len() + r.former.len()
}
