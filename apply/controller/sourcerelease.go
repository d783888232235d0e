package controller

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// nodes lists the nodes of the cache, for a plan that depends on them.
func (l *sourceLoop) nodes(ctx context.Context) func() ([]*corev1.Node, error) {
	return func() ([]*corev1.Node, error) { return listNodes(ctx, l.client) }
}

// refusalOf is the failure of a revision of which nothing is applied; nil of one that is.
func refusalOf(outcome plan.RevisionOutcome) error {
	if outcome.Refused == nil {
		return nil
	}
	reason := v1.ClaimedReason
	if held := (*plan.ReleaseBlock)(nil); errors.As(outcome.Refused, &held) {
		reason = v1.ReleaseBlockedReason
	}
	return &refusal{reason: reason, err: outcome.Refused}
}
