package nodes

import (
	"sync"
	"time"

	"github.com/nodepools/nodepools/apply/metrics"
)

// pending are the nodes that something has happened to, or to a pool of which, and since
// when. An entry is gone when a pass that began afterwards has ended well: in a steady
// state there is none.
type pending struct {
	now func() time.Time

	mu    sync.Mutex
	nodes map[string]*pendingNode
}

// pendingNode is what a node waits for.
type pendingNode struct {
	change
	// underway is set while a pass is under way that began after the change, and later is
	// what has happened since; without a cause that is nothing.
	underway bool
	later    change
}

// change is what has happened, and when.
type change struct {
	cause metrics.Cause
	at    time.Time
}

func newPending() *pending { return &pending{now: time.Now, nodes: map[string]*pendingNode{}} }

// add notes that a node is not up to date. The first cause counts.
func (p *pending) add(node string, cause metrics.Cause) {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting := p.nodes[node]
	switch {
	case waiting == nil:
		p.nodes[node] = &pendingNode{change: change{cause, p.now()}}
	case waiting.underway && waiting.later.cause == "":
		waiting.later = change{cause, p.now()}
	}
}

// begin notes that a pass over a node begins. It has seen all that has happened before.
func (p *pending) begin(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if waiting := p.nodes[node]; waiting != nil {
		waiting.underway, waiting.later = true, change{}
	}
}

// end notes that a pass over a node has ended well, and returns what it was for; it is not
// ok where that was nothing.
func (p *pending) end(node string) (was change, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting := p.nodes[node]
	if waiting == nil || !waiting.underway {
		return change{}, false
	}
	was = waiting.change
	if waiting.later.cause == "" {
		delete(p.nodes, node)
	} else {
		p.nodes[node] = &pendingNode{change: waiting.later}
	}
	return was, true
}

func (p *pending) forget(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.nodes, node)
}

// Pending returns how many nodes are not up to date, and since when the first of them is
// not; the zero time where none is.
func (r *Reconciler) Pending() (nodes int, since time.Time) {
	r.pending.mu.Lock()
	defer r.pending.mu.Unlock()
	for _, waiting := range r.pending.nodes {
		if since.IsZero() || waiting.at.Before(since) {
			since = waiting.at
		}
	}
	return len(r.pending.nodes), since
}
