package nodes

import (
	"context"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/apply/plan"
)

// instances notices that another instance works at the same time. Nobody but a
// controller writes the record of a node: where it changes more often than this one
// can have written the node, another one has. Both are refused half of their writes
// then, and nothing else shows it.
type instances struct {
	now func() time.Time
	// log is the manager's: the context of an event has none.
	log logr.Logger

	mu sync.Mutex
	// balance is, by node, how often this instance can have changed it and has not yet
	// seen that; in this period and the one before.
	balance, before map[string]int
	// foreign are the nodes that another instance has changed in this period.
	foreign  map[string]bool
	began    time.Time
	reported bool
}

const (
	// balancePeriod is longer than the cache takes to see a write.
	balancePeriod = time.Minute
	// minForeign is how many nodes have to change so in one period: a single record
	// may be changed by hand.
	minForeign = 3
)

func newInstances(log logr.Logger) *instances {
	return &instances{now: time.Now, log: log, balance: map[string]int{}, foreign: map[string]bool{}}
}

// add notes that a node may have been changed by this instance once more, or that one
// of its changes is accounted for. It reports whether another instance is to be
// reported.
func (i *instances) add(node string, changes int) (report bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if now := i.now(); now.Sub(i.began) >= balancePeriod {
		i.before, i.balance, i.foreign, i.began = i.balance, map[string]int{}, map[string]bool{}, now
	}
	i.balance[node] += changes
	if i.balance[node]+max(i.before[node], 0) < 0 {
		i.balance[node] = -max(i.before[node], 0)
		i.foreign[node] = true
	}
	report = len(i.foreign) >= minForeign && !i.reported
	i.reported = i.reported || report
	return report
}

// changed notes that a node has changed.
func (i *instances) changed(before, after *nodecache.Node) {
	if before.Annotations[v1.AppliedAnnotation] != after.Annotations[v1.AppliedAnnotation] {
		i.account(after.Name)
	}
}

// account notes that a node was changed, or that an own change of it was refused.
func (i *instances) account(node string) {
	if i.add(node, -1) {
		i.log.Error(nil, "another instance of nodepools writes the same nodes: run one at a time, or let both share a lease, by --leader-elect and the same --leader-election-namespace", "node", node)
	}
}

// countingPatcher counts which nodes are written.
type countingPatcher struct {
	next      apply.NodePatcher
	instances *instances
}

// PatchNode implements [apply.NodePatcher].
func (p countingPatcher) PatchNode(ctx context.Context, name string, patch plan.Patch) error {
	if patch.DryRun {
		return p.next.PatchNode(ctx, name, patch)
	}
	var sent atomic.Int32
	p.instances.add(name, +1)
	err := p.next.PatchNode(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { sent.Add(1) },
	}), name, patch)
	// One that was sent again, on another connection, may be refused because it was
	// carried out before.
	if apply.IsConflict(err) && sent.Load() == 1 {
		p.instances.account(name)
	}
	return err
}
