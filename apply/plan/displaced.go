package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ComingDrain is a NoExecute taint of which a node is drained once it is its turn.
type ComingDrain struct {
	// Pool wants the taint, and By is the pool whose rollout drains the node.
	Pool, By string
	// Key stands for the taint, as [FollowedPool.Keys] has it.
	Key string
}

// comingDrains are the NoExecute taints of a plan that wait for the turn of the node, and of
// which it is drained then; sorted.
func (f NodeFacts) comingDrains(p *NodePlan, wait NodeWait) []ComingDrain {
	var coming []ComingDrain
	if f.Rollouts == nil || len(wait) == 0 {
		return nil
	}
	for _, change := range p.Changes {
		id, comes := newNoExecute(change)
		if !comes || f.Rollouts.completes(p, id) {
			continue
		}
		want, wanted := p.desired.Taints[id]
		by := f.Rollouts.drainedBy(p, want.Pool)
		if waits := wait.Of(want.Pool); !wanted || by == nil || waits == nil || !waits.Turn {
			continue
		}
		coming = append(coming, ComingDrain{want.Pool, by.name, f.Rollouts.of(want.Pool).saying(Taint, id.String(), want.Value)})
	}
	slices.SortFunc(coming, compareComing)
	return coming
}

func compareComing(a, b ComingDrain) int {
	return cmp.Or(strings.Compare(a.By, b.By), strings.Compare(a.Pool, b.Pool), strings.Compare(a.Key, b.Key))
}

// PendingPod is a pod that has no node, and of which the scheduler has said that none would
// do.
type PendingPod struct {
	Namespace, Name string
	Created         time.Time
	// Fits reports whether the labels and taints of a node let the pod run there, and it has
	// room for it while no other runs there. Pods of the same Shape fit the same nodes.
	Shape string
	Fits  func(node *NodeState) bool
}

// Displaced are pods that have no node, and that a rollout may have displaced.
type Displaced struct {
	// Pods is how many there are; First is the first of them, as namespace/name.
	Pods  int
	First string
	// Unknown reports that it has to be seen first whether there are some.
	Unknown bool
}

// holds reports whether no further node may be drained.
func (d Displaced) holds() bool { return d.Unknown || d.Pods > 0 }

// String says that no further node is drained, and names the first of the pods.
func (d Displaced) String() string {
	if d.Pods == 1 {
		return fmt.Sprintf("no further node is drained while pod %s finds no place", d.First)
	}
	return fmt.Sprintf("no further node is drained while %d pods find no place: pod %s, for one", d.Pods, d.First)
}

// Displacing is a rollout in which a node waits to be drained, and others have begun to
// follow what it waits for.
type Displacing struct {
	// Since is when the first of the others began, and Last when one has begun last, or was
	// drained.
	Since, Last time.Time
}

// displacing gathers what nodes wait for, by the pool whose rollout drains them.
type displacing map[string][]ComingDrain

func displacingOf(nodes []Follower) displacing {
	all := map[ComingDrain]bool{}
	for i := range nodes {
		for _, coming := range nodes[i].Coming {
			all[coming] = true
		}
	}
	by := displacing{}
	for _, coming := range slices.SortedFunc(maps.Keys(all), compareComing) {
		by[coming.By] = append(by[coming.By], coming)
	}
	return by
}

// followed returns what a node has followed of the pools of a rollout, by name, of what
// others wait for to be drained.
func (r *Rollouts) followed(node *Follower, coming []ComingDrain) map[string]FollowedPool {
	var found map[string]FollowedPool
	for _, one := range coming {
		of, known := node.Change.Pools[one.Pool]
		if !known || !slices.Contains(node.Pools, one.By) || slices.Contains(node.Coming, one) {
			continue
		}
		if slices.Contains(of.Keys, one.Key) || len(of.Keys) == 0 && of.Content == r.of(one.Pool).content {
			if found == nil {
				found = map[string]FollowedPool{}
			}
			found[one.Pool] = of
		}
	}
	return found
}

// Displacing are the rollouts in which pods may have been displaced, and in which a node
// waits to be drained, by pool. It goes by the records of the nodes alone.
func (r *Rollouts) Displacing(nodes []Follower) map[string]Displacing {
	found := map[string]Displacing{}
	for by, coming := range displacingOf(nodes) {
		var d Displacing
		for i := range nodes {
			for pool, followed := range r.followed(&nodes[i], coming) {
				began := nodes[i].Change.beganAt(pool, followed)
				if d.Since.IsZero() || began.Before(d.Since) {
					d.Since = began
				}
				d.Last = latest(d.Last, nodes[i].Change.At)
			}
		}
		if !d.Since.IsZero() {
			found[by] = d
		}
	}
	return found
}

// beganAt is when a node began to follow what it has followed of a pool, be it that it was
// drained for that since.
func (c LastChange) beganAt(pool string, followed FollowedPool) time.Time {
	began := followed.At
	if !followed.Began.IsZero() {
		began = followed.Began
	}
	for _, drained := range c.Drains {
		if drained.Pool == pool && drained.Since.Before(began) {
			began = drained.Since
		}
	}
	return began
}

// createdEarly is by how much a pod may seem to be older than the change that has displaced
// its predecessor: changes are noted up to two seconds ahead, and pods in whole seconds.
const createdEarly = 3 * time.Second

// Displaced are the pods that rollouts may have displaced, by pool: of pods without a node
// those that were created since the first node began, and that some node would have taken
// before: one that has followed, as it was before, or one that waits, as it is.
func (r *Rollouts) Displaced(nodes []Follower, states map[string]*NodeState, pods []PendingPod) map[string]Displaced {
	found, coming := map[string]Displaced{}, displacingOf(nodes)
	for by, since := range r.Displacing(nodes) {
		var before []*NodeState
		fits := map[string]bool{}
		for _, pod := range pods {
			if pod.Created.Before(since.Since.Add(-createdEarly)) {
				continue
			}
			if before == nil {
				before = r.before(nodes, states, by, coming[by])
			}
			fit, known := fits[pod.Shape]
			if !known {
				fit = slices.ContainsFunc(before, pod.Fits)
				fits[pod.Shape] = fit
			}
			if !fit {
				continue
			}
			of := found[by]
			if name := pod.Namespace + "/" + pod.Name; of.Pods == 0 || name < of.First {
				of.First = name
			}
			of.Pods++
			found[by] = of
		}
	}
	return found
}

// before are the nodes of a rollout as they were before they followed what drains them.
func (r *Rollouts) before(nodes []Follower, states map[string]*NodeState, by string, coming []ComingDrain) []*NodeState {
	var before []*NodeState
	for i := range nodes {
		node := &nodes[i]
		state := states[node.Name]
		if state == nil {
			continue // it is gone
		}
		followed := r.followed(node, coming)
		if len(followed) == 0 && !slices.ContainsFunc(node.Coming, func(one ComingDrain) bool { return one.By == by }) {
			continue
		}
		was := *state
		was.Labels, was.Taints = maps.Clone(state.Labels), slices.Clone(state.Taints)
		for _, of := range followed {
			of.undo(&was)
		}
		before = append(before, &was)
	}
	return before
}

// undo puts the keys back that a node had before it followed a pool.
func (f FollowedPool) undo(node *NodeState) {
	for key, value := range f.Labels {
		if value == nil {
			delete(node.Labels, key)
			continue
		}
		if node.Labels == nil {
			node.Labels = map[string]string{}
		}
		node.Labels[key] = *value
	}
	for id, value := range f.Taints {
		node.Taints = slices.DeleteFunc(node.Taints, func(taint corev1.Taint) bool { return taint.Key == id.Key && taint.Effect == id.Effect })
		if value != nil {
			node.Taints = append(node.Taints, corev1.Taint{Key: id.Key, Value: *value, Effect: id.Effect})
		}
	}
}

// heldFor returns the first pool whose rollout keeps a node from being drained for changes of
// one that asks; empty where none does. What goes back to what was before, and what is
// expedited, waits for no pods.
func (r *Rollouts) heldFor(node *Follower, asks PoolAsks, displaced map[string]Displaced) (by string) {
	waits := func(pool, by string) bool {
		return !slices.Contains(node.Reverts, pool) && !slices.ContainsFunc([]string{by, r.orders(asks.In)}, func(name string) bool {
			return r.pools[name] != nil && r.pools[name].expedites(r.of(pool).change)
		})
	}
	for _, coming := range node.Coming {
		if asks.Pool == coming.Pool && displaced[coming.By].holds() && waits(coming.Pool, coming.By) {
			return coming.By
		}
	}
	return ""
}
