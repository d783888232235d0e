package fleet

import (
	"context"
	"slices"
	"time"

	"github.com/nodepools/nodepools/apply/plan"
)

// Follow leads from the pools that have changed since the last call to the nodes which
// they may concern: enqueue is called with each. All others count as observed: a pass
// over them would find what the last one has found.
func (f *Fleet) Follow(ctx context.Context, enqueue func(node string)) error {
	f.following.Lock()
	defer f.following.Unlock()
	pools, err := f.Snapshot(ctx)
	if err != nil {
		return err
	}
	enqueueDue := func(node string) {
		f.setDue(node)
		enqueue(node)
	}
	var rest []lastObservation
	for _, last := range f.begin(pools.Epoch) {
		if pools.ChangedSince(last.Observation) {
			enqueueDue(last.node)
		} else {
			rest = append(rest, last)
		}
	}
	if pools.regrouped(f.followed) {
		if rest, err = f.followMoved(ctx, pools, rest, enqueueDue); err != nil {
			return err
		}
	}
	f.advance(rest, pools.Epoch)
	f.publishPending(pools)
	f.followed = pools
	f.turns.setDue()
	return nil
}

// followMoved leads to the nodes that are in other pools than they were, and returns the
// observations of the others.
func (f *Fleet) followMoved(ctx context.Context, pools *Snapshot, observations []lastObservation, enqueue func(node string)) ([]lastObservation, error) {
	nodes, err := f.nodes.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	stays := make(map[string]bool, len(nodes))
	members := map[string][]string{}
	for _, last := range observations {
		members[last.node] = last.Members
	}
	for _, node := range nodes {
		now, err := plan.Members(node, pools.Expansion)
		stays[node.Name] = err == nil && slices.Equal(now, members[node.Name])
	}
	return slices.DeleteFunc(observations, func(last lastObservation) bool {
		if !stays[last.node] {
			enqueue(last.node)
		}
		return !stays[last.node]
	}), nil
}

// publishPending publishes the pools of which something else waits to be accepted than before, and
// once more those that wait for other deletions, when that time is over.
func (f *Fleet) publishPending(now *Snapshot) {
	for name := range now.pools {
		if f.followed == nil || !now.Accepted.Pending(name).Equal(f.followed.Accepted.Pending(name)) || now.Accepted.Accepts(name) {
			f.changes.publish(name, Held)
		}
	}
	if now.Accepted.Gathers {
		time.AfterFunc(time.Until(now.until), func() { f.changed(now.gathered()...) })
	}
}

// gathered are the pools that are being deleted, and that wait for others.
func (s *Snapshot) gathered() []string {
	var names []string
	for name, state := range s.pools {
		if s.Accepted.Pending(name) != nil && !state.definition.DeletionTimestamp.IsZero() {
			names = append(names, name)
		}
	}
	return names
}
