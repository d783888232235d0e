package nodes

import (
	"sync"
	"time"
)

// drained are nodes from which pods are evicted, and when each had pods last that must go.
type drained struct {
	mu sync.Mutex
	// since is when the first drain was observed: what was evicted before, by an earlier
	// leader, is not known.
	since time.Time
	nodes map[string]time.Time
}

func newDrained() *drained { return &drained{nodes: map[string]time.Time{}} }

// hadPods notes whether a node has pods that must go, and returns when it had some last.
func (d *drained) hadPods(node string, has bool, now time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.since.IsZero() || d.since.After(now) { // the clock was set back
		d.since = now.Truncate(time.Second) // as the record of the node has times
	}
	if has {
		d.nodes[node] = now
	}
	if last, known := d.nodes[node]; known {
		return last
	}
	return d.since
}

// forget drops a node that is not drained.
func (d *drained) forget(node string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.nodes, node)
}
