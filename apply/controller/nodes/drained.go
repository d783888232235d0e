package nodes

import (
	"sync"
	"time"

	"github.com/nodepools/nodepools/apply/evict"
)

// drained are nodes from which pods are evicted, when each had pods last that must go, and when
// they are evicted again.
type drained struct {
	mu sync.Mutex
	// since is when the first drain was observed: what was evicted before, by an earlier
	// leader, is not known.
	since time.Time
	nodes map[string]drainedNode
}

type drainedNode struct {
	hadPods time.Time
	// due is when pods are evicted again; until then it stands what was said last.
	due  time.Time
	said string
}

func newDrained() *drained { return &drained{nodes: map[string]drainedNode{}} }

// hadPods notes whether a node has pods that must go, and returns when it had some last.
func (d *drained) hadPods(node string, has bool, now time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.since.IsZero() || d.since.After(now) { // the clock was set back
		d.since = now.Truncate(time.Second) // as the record of the node has times
	}
	known := d.nodes[node]
	if has {
		known.hadPods = now
		d.nodes[node] = known
	}
	if !known.hadPods.IsZero() {
		return known.hadPods
	}
	return d.since
}

// waits returns for how long no pod of a node is evicted, and what was said of it last. Whatever
// changes on a node, by its kubelet for one, sets no pace.
func (d *drained) waits(node string, now time.Time) (time.Duration, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.nodes[node]
	if rest := known.due.Sub(now); rest <= evict.RetryPeriod { // or the clock was set back
		return max(rest, 0), known.said
	}
	return 0, ""
}

// evictsAgain notes when pods of a node are evicted again, and what is said until then.
func (d *drained) evictsAgain(node string, due time.Time, said string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.nodes[node]
	known.due, known.said = due, said
	d.nodes[node] = known
}

// forget drops a node that is not drained.
func (d *drained) forget(node string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.nodes, node)
}
