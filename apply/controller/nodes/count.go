package nodes

import (
	"errors"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/metrics"
	"github.com/nodepools/nodepools/apply/plan"
)

// count counts a write of a node, and what it has put back.
func (r *Reconciler) count(p *plan.NodePlan, err error) {
	if p.NoOp() {
		return
	}
	r.metrics.NodeWritten(actionOf(p), resultOf(err))
	if err != nil {
		return
	}
	for _, change := range p.Changes {
		if change.Drift {
			r.metrics.DriftRepaired(change.Pool, 1)
		}
	}
}

// converged counts a node that is up to date again; one that was not written was so
// before.
func (r *Reconciler) converged(node string, written bool) {
	if was, ok := r.pending.end(node); ok && written {
		r.metrics.NodeConverged(was.cause, r.pending.now().Sub(was.at))
	}
}

// actionOf says what a write does.
func actionOf(p *plan.NodePlan) metrics.WriteAction {
	switch {
	case len(p.Releases()) > 0:
		return metrics.ReleaseNode
	case len(p.Changes) > 0 && !slices.ContainsFunc(p.Changes, func(c plan.KeyChange) bool { return !c.Drift }):
		return metrics.RepairNode
	}
	return metrics.UpdateNode
}

// resultOf says what became of a write.
func resultOf(err error) metrics.WriteResult {
	no := apierrors.APIStatus(nil)
	_, asksToWait := apierrors.SuggestsClientDelay(err)
	switch {
	case err == nil:
		return metrics.Success
	case apply.IsConflict(err):
		return metrics.Conflict
	case apierrors.IsNotFound(err):
		return metrics.Gone
	case asksToWait || apierrors.IsTooManyRequests(err):
		return metrics.Throttled
	case errors.As(err, &no) && no.Status().Code < http.StatusInternalServerError:
		return metrics.Refused
	}
	return metrics.Failed
}
