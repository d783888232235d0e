package controller

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/nodes"
	"github.com/nodepools/nodepools/apply/controller/sources"
	"github.com/nodepools/nodepools/apply/metrics"
)

// addMetrics has what the reconcilers know reported for as long as the manager runs.
func addMetrics(mgr manager.Manager, m *metrics.Metrics, view *fleet.Fleet, ofNodes *nodes.Reconciler, ofSources *sources.Reconciler) error {
	if m == nil {
		return nil
	}
	return mgr.Add(reporting{m, &metrics.View{
		Cached:  mgr.GetClient(),
		Elected: mgr.Elected(),
		Nodes:   func() metrics.NodeCounts { return nodeCounts(view) },
		Pending: ofNodes.Pending,
		Polls:   ofSources.Polls,
	}})
}

// reporting has a view reported while it runs.
type reporting struct {
	metrics *metrics.Metrics
	view    *metrics.View
}

// NeedLeaderElection has it run also while another instance works: it then reports that
// this one stands by.
func (reporting) NeedLeaderElection() bool { return false }

// Start implements [manager.Runnable].
func (r reporting) Start(ctx context.Context) error {
	defer r.metrics.Follow(r.view)()
	<-ctx.Done()
	return nil
}

func nodeCounts(view *fleet.Fleet) metrics.NodeCounts {
	totals, known := view.Totals(time.Now())
	counts := metrics.NodeCounts{
		Known: known, Unreadable: totals.Unreadable, Pools: make(map[string]metrics.PoolCounts, len(totals.Pools)),
		Open: totals.Open, Turns: make(map[string]metrics.TurnCounts, len(totals.Turns)),
	}
	for name, pool := range totals.Pools {
		counts.Pools[name] = metrics.PoolCounts(pool)
	}
	for name, nodes := range totals.Turns {
		counts.Turns[name] = metrics.TurnCounts(nodes)
	}
	return counts
}
