package metrics

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// View is what the process has in memory. Its functions are called when it is scraped, from
// any goroutine, and return without waiting for what is under way.
type View struct {
	// Cached reads the pools and the sources of a cache.
	Cached client.Reader
	// Elected is closed when the session holds the lease, or needs none.
	Elected <-chan struct{}
	// Nodes returns what nodes come to.
	Nodes func() NodeCounts
	// Pending returns how many nodes are not up to date, and since when the first of them
	// is not.
	Pending func() (nodes int, since time.Time)
	// Polls returns what the last polls of sources have found, by the name of the source.
	Polls func() map[string]Poll
}

// NodeCounts are what nodes come to.
type NodeCounts struct {
	// Known is true when a pass over each node has ended. Before that a count says
	// nothing, and a count that is not known is not zero.
	Known bool
	// Unreadable is the number of nodes whose record cannot be read.
	Unreadable int
	// Pools are by name; one that is missing has no such nodes.
	Pools map[string]PoolCounts
	// Open has the pools with windows, by name, and whether their nodes may follow changes of
	// them now.
	Open map[string]bool
	// Turns has the pools in whose rollouts nodes take turns, by name; none while no change
	// waits.
	Turns map[string]TurnCounts
}

// PoolCounts are what the nodes of a pool come to.
type PoolCounts struct {
	// Failing is the number of nodes that could not be read or written; Conflicts of keys
	// that the pool does not get, on all nodes together; Waiting of nodes on which changes
	// of the pool wait; Draining of those from which pods are evicted for the pool.
	Failing, Conflicts, Waiting, Draining int
}

// TurnCounts are what the nodes of a pool come to in whose rollout they take turns.
type TurnCounts struct {
	// Following is the number of nodes that have begun to follow a change, Unavailable of
	// those that count against maxUnavailable, the former among them, and Failed of those that
	// have followed and are not ready.
	Following, Unavailable, Failed int
}

// Poll is what the last poll of a source has found.
type Poll struct {
	// LastSuccess is when the repository has last answered; zero for never.
	LastSuccess time.Time
	// CredentialExpiry is when the credential expires; zero where that is not known.
	CredentialExpiry time.Time
}

// leads reports whether the session is the one that works.
func (v *View) leads() bool {
	select {
	case <-v.Elected:
		return true
	default:
		return false
	}
}

// collect reports the state of the cluster. What a cache that is not filled yet cannot
// say is left out: nobody waits for it.
func (v *View) collect(c *collection, m *Metrics) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // a cache that is not filled is not waited for
	var pools v1.NodePoolList
	if err := v.Cached.List(ctx, &pools, client.UnsafeDisableDeepCopy); err == nil {
		// Samples are sorted in the end, which is cheap when they nearly are.
		slices.SortFunc(pools.Items, func(a, b v1.NodePool) int { return strings.Compare(a.Name, b.Name) })
		v.collectPools(c, m, pools.Items)
	}
	var sources v1.NodePoolSourceList
	if err := v.Cached.List(ctx, &sources, client.UnsafeDisableDeepCopy); err == nil {
		v.collectSources(c, m, sources.Items)
	}
	pending, since := v.Pending()
	c.gauge(nodesPending, float64(pending))
	oldest := 0.0
	if pending > 0 {
		oldest = max(0, c.now.Sub(since).Seconds())
	}
	c.gauge(nodesPendingOldest, oldest)
}

func (v *View) collectPools(c *collection, m *Metrics, pools []v1.NodePool) {
	nodes := v.Nodes()
	if nodes.Known {
		c.gauge(recordsUnreadable, float64(nodes.Unreadable))
	}
	exists := make(map[string]bool, len(pools))
	rollouts := slices.ContainsFunc(pools, func(pool v1.NodePool) bool { return pool.Spec.Rollout != nil })
	for i := range pools {
		pool := &pools[i]
		exists[pool.Name] = true
		c.conditions(v1.NodePoolKind, pool.Name, pool.Status.Conditions)
		if reported := pool.Status.Nodes; reported != nil {
			c.gauge(poolNodes, float64(reported.Conflicted), pool.Name, "conflicted")
			c.gauge(poolNodes, float64(reported.Desired), pool.Name, "desired")
			c.gauge(poolNodes, float64(reported.Ready), pool.Name, "ready")
			c.gauge(poolNodes, float64(reported.Updated), pool.Name, "updated")
		}
		if nodes.Known {
			c.gauge(poolNodes, float64(nodes.Pools[pool.Name].Failing), pool.Name, "failing")
			c.gauge(poolConflicts, float64(nodes.Pools[pool.Name].Conflicts), pool.Name)
		}
		if rollouts {
			c.rolloutNodes(pool.Name, nodes)
		}
		if pool.Spec.Rollout != nil {
			c.rollout(pool)
			m.beginEvictions(pool)
		}
		if open, restricted := nodes.Open[pool.Name]; restricted {
			c.flag(rolloutWindowOpen, open, pool.Name)
		}
	}
	c.counts(m.driftRepairs, exists)
	c.counts(m.evictions, exists)
}

// rolloutNodes reports how many nodes are on their way to follow a pool.
func (c *collection) rolloutNodes(pool string, nodes NodeCounts) {
	if !nodes.Known {
		return
	}
	report := func(state string, count int) { c.gauge(rolloutNodes, float64(count), pool, state) }
	report("draining", nodes.Pools[pool].Draining)
	if turns, known := nodes.Turns[pool]; known {
		report("failed", turns.Failed)
		report("following", turns.Following)
		report("unavailable", turns.Unavailable)
	}
	report("waiting", nodes.Pools[pool].Waiting)
}

// rollout reports how far the rollout of a pool is, by its status.
func (c *collection) rollout(pool *v1.NodePool) {
	status := pool.Status.Rollout
	c.flag(rolloutHalted, status != nil && status.Halt != nil && !status.Halt.Resumed, pool.Name)
	if status != nil && status.Wave != "" {
		c.gauge(rolloutWave, 1, pool.Name, status.Wave)
	}
}

func (v *View) collectSources(c *collection, m *Metrics, sources []v1.NodePoolSource) {
	polls := v.Polls()
	exists := make(map[string]bool, len(sources))
	for i := range sources {
		src := &sources[i]
		exists[src.Name] = true
		c.conditions(v1.NodePoolSourceKind, src.Name, src.Status.Conditions)
		c.gauge(sourcePools, float64(src.Status.Pools), src.Name)
		if src.Status.Revision != "" {
			c.gauge(sourceRevision, 1, src.Name, src.Status.Revision)
		}
		held := 0.0
		if meta.IsStatusConditionTrue(src.Status.Conditions, v1.PruneBlockedCondition) && src.Status.BlockedPrune != nil {
			held = float64(src.Status.BlockedPrune.Count)
		}
		c.gauge(sourcePruneHeld, held, src.Name)
		poll := polls[src.Name]
		c.timestamp(sourceCredentialExpiry, poll.CredentialExpiry, src.Name)
		if src.Spec.Suspend || v1.IsDisabled(src, v1.ReconcileAnnotation) {
			continue
		}
		interval := src.Spec.Interval.Duration
		if interval <= 0 {
			interval = v1.DefaultInterval
		}
		c.gauge(sourceInterval, interval.Seconds(), src.Name)
		c.timestamp(sourceLastSuccess, poll.LastSuccess, src.Name)
	}
	c.counts(m.polls, exists)
	c.counts(m.fetchedBytes, exists)
}

// conditions reports what an object's conditions are.
func (c *collection) conditions(kind, name string, conditions []metav1.Condition) {
	for i := range conditions {
		condition := &conditions[i]
		c.gauge(statusCondition, 1, kind, name, condition.Type, string(condition.Status), condition.Reason)
	}
}
