package nodes

import (
	"sync"
	"time"

	"github.com/nodepools/nodepools/apply/evict"
	"github.com/nodepools/nodepools/apply/plan"
)

// drained are nodes from which pods are evicted, when each had pods last that must go, and when
// they are evicted again.
type drained struct {
	mu sync.Mutex
	// since is when the first drain was observed: what was evicted before, by an earlier
	// leader, is not known.
	since time.Time
	nodes map[string]*drainedNode
}

type drainedNode struct {
	// hadPods is when there was none that must go for the first time, or one for the last; has
	// reports that there was one last.
	hadPods time.Time
	has     bool
	// due is when pods are evicted again; until then it stands what was said last.
	due  time.Time
	said string
	// forced reports that this was the last time before the taints come.
	forced    bool
	evictions plan.Evictions
}

func newDrained() *drained { return &drained{nodes: map[string]*drainedNode{}} }

// hadPods notes whether a node has pods that must go, and returns when it had some last.
func (d *drained) hadPods(node string, has bool, now time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.since.IsZero() || d.since.After(now) { // the clock was set back
		d.since = now.Truncate(time.Second) // as the record of the node has times
	}
	known := d.of(node)
	if has || known.has { // it was gone before it was seen to be
		known.hadPods = now
	}
	known.has = has
	if !known.hadPods.IsZero() {
		return known.hadPods
	}
	return d.since
}

// of is what is known of a node.
func (d *drained) of(node string) *drainedNode {
	known := d.nodes[node]
	if known == nil {
		known = &drainedNode{}
		d.nodes[node] = known
	}
	return known
}

// evictions are those of a node. Nobody else has them at the same time: a node is reconciled by
// one worker.
func (d *drained) evictions(node string) *plan.Evictions {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &d.of(node).evictions
}

// waits returns for how long no pod of a node is evicted, and what was said of it last. Whatever
// changes on a node, by its kubelet for one, sets no pace.
func (d *drained) waits(node string, drain *plan.Drain, now time.Time) (time.Duration, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.of(node)
	rest := known.due.Sub(now)
	if clockSetBack := rest > evict.RetryPeriod; clockSetBack || drain.Forces && !known.forced {
		return 0, ""
	}
	return max(rest, 0), known.said
}

// evictsAgain notes when pods of a node are evicted again, and what is said until then.
func (d *drained) evictsAgain(node string, drain *plan.Drain, due time.Time, said string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.of(node)
	known.due, known.said, known.forced = due, said, drain.Forces
}

// forget drops a node that is not drained.
func (d *drained) forget(node string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.nodes, node)
}
