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

// View is what a session has in memory. Its functions are called when it is scraped, from
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
	// Open has the pools with a rollout, by name, and whether their nodes may follow
	// changes of them now.
	Open map[string]bool
}

// PoolCounts are what the nodes of a pool come to.
type PoolCounts struct {
	// Failing is the number of nodes that could not be read or written; Conflicts of keys
	// that the pool does not get, on all nodes together; Waiting of nodes on which changes
	// of the pool wait.
	Failing, Conflicts, Waiting int
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
		c.rollout(pool.Name, nodes)
	}
	c.counts(m.driftRepairs, exists)
}

// rollout reports what waits of a pool, where any pool has a rollout.
func (c *collection) rollout(pool string, nodes NodeCounts) {
	if nodes.Known && len(nodes.Open) > 0 {
		c.gauge(rolloutWaitingNodes, float64(nodes.Pools[pool].Waiting), pool)
	}
	if open, restricted := nodes.Open[pool]; restricted {
		value := 0.0
		if open {
			value = 1
		}
		c.gauge(rolloutWindowOpen, value, pool)
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
