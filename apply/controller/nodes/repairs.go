package nodes

import (
	"sync"
	"time"

	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/plan"
)

// repairs keeps what is known of the repairs of nodes, which [plan.RepairBackoff]
// decides by. It has an entry for each node of which a key was put back lately.
type repairs struct {
	backoff plan.RepairBackoff
	now     func() time.Time

	mu    sync.Mutex
	nodes map[string]*plan.Repairs
}

func newRepairs(backoff plan.RepairBackoff) *repairs {
	return &repairs{backoff: backoff, now: time.Now, nodes: map[string]*plan.Repairs{}}
}

func (r *repairs) of(node string) *plan.Repairs {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.nodes[node]
}

// set replaces what is known of a node, and returns after what time the node needs
// another pass for it; 0 for none.
func (r *repairs) set(node string, known *plan.Repairs) time.Duration {
	if known == nil {
		r.forget(node)
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes[node] = known
	return max(r.backoff.Next(known).Sub(r.now()), loop.AtOnce)
}

func (r *repairs) forget(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.nodes, node)
}

// Kept is how many nodes are kept in memory.
func (r *Reconciler) Kept() int {
	pending, _ := r.Pending()
	r.repairs.mu.Lock()
	defer r.repairs.mu.Unlock()
	r.refusals.mu.Lock()
	defer r.refusals.mu.Unlock()
	r.absences.mu.Lock()
	defer r.absences.mu.Unlock()
	return pending + len(r.repairs.nodes) + len(r.refusals.nodes) + len(r.absences.nodes)
}
