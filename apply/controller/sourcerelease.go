package controller

import (
	"context"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// limitReleases is a refusal where a revision takes too many nodes out of pools. It
// reads the nodes only where the revision changes a pool.
func (l *sourceLoop) limitReleases(ctx context.Context, revision plan.Revision, live []*v1.NodePool, p *plan.PoolsPlan) error {
	if len(p.Changes) == 0 {
		return nil
	}
	nodes, err := listNodes(ctx, l.client)
	if err != nil {
		return err
	}
	p.LimitReleases(revision, live, nodes)
	if p.Held != nil {
		return &refusal{reason: v1.ReleaseBlockedReason, err: p.Held}
	}
	return nil
}

// handledReleaseApproval is the approval that is used up after a pass that has
// applied a revision.
func handledReleaseApproval(src *v1.NodePoolSource, applied string) string {
	if approval := src.Annotations[v1.ApproveReleaseAnnotation]; approval != "" && approval == applied {
		return approval
	}
	return src.Status.LastHandledReleaseApproval
}
