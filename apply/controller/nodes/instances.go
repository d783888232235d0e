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
	// unseen is, by node, how often this instance can have changed it and has not yet
	// seen that; in this period, and in the one before.
	unseen, before map[string]int
	// foreign are the nodes that another instance has changed in this period.
	foreign  map[string]bool
	began    time.Time
	reported bool
}

const (
	// unseenPeriod is longer than the cache takes to see a write.
	unseenPeriod = time.Minute
	// minForeign is how many nodes have to change so in one period: a single record
	// may be changed by hand.
	minForeign = 3
)

func newInstances(log logr.Logger) *instances {
	return &instances{now: time.Now, log: log, unseen: map[string]int{}, foreign: map[string]bool{}}
}

// sends notes that a node may be changed by this instance once more.
func (i *instances) sends(node string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rotate()
	i.unseen[node]++
}

// sees notes that a node was changed, or that an own change of it was refused: an own one
// accounts for it, if there is one. It reports whether another instance is to be reported.
func (i *instances) sees(node string) (report bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rotate()
	switch {
	case i.unseen[node] > 0: // first, so that what is never seen does not outlive its period
		i.unseen[node]--
	case i.before[node] > 0:
		i.before[node]--
	default:
		i.foreign[node] = true
	}
	report = len(i.foreign) >= minForeign && !i.reported
	i.reported = i.reported || report
	return report
}

func (i *instances) rotate() {
	now := i.now()
	age := now.Sub(i.began)
	if age < unseenPeriod {
		return
	}
	i.before, i.unseen, i.foreign, i.began = i.unseen, map[string]int{}, map[string]bool{}, now
	if age >= 2*unseenPeriod { // nothing happened in the one before
		clear(i.before)
	}
}

// changed notes that a node has changed.
func (i *instances) changed(before, after *nodecache.Node) {
	if before.Annotations[v1.AppliedAnnotation] != after.Annotations[v1.AppliedAnnotation] {
		i.account(after.Name)
	}
}

// account notes that a node was changed, or that an own change of it was refused.
func (i *instances) account(node string) {
	if i.sees(node) {
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
	var sent atomic.Int32
	p.instances.sends(name)
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
