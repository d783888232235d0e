package main

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/api/manifests"
	"github.com/nodepools/nodepools/apply/connect"
	"github.com/nodepools/nodepools/apply/daemon"
)

// lease returns the lease to work under, or nil where it is not wanted or cannot be
// had. The latter is reported, unless the lease was asked for: then it has to be there.
func (o *runOptions) lease(ctx context.Context, config *rest.Config, without func(why error)) (*daemon.Lease, error) {
	if !o.leaderElect {
		return nil, nil
	}
	demanded := o.leaderElectSet || o.leaseNamespace != ""
	l, err := daemon.NewLease(config, o.leaseNamespace)
	if errors.Is(err, daemon.ErrNoPod) {
		if demanded {
			return nil, hint.Add(err, "name it with --leader-election-namespace")
		}
		l, err = daemon.NewLease(config, manifests.DefaultNamespace)
	}
	if err != nil || demanded {
		return l, err
	}
	ctx, cancel := context.WithTimeout(ctx, connect.DialTimeout)
	defer cancel()
	switch err := l.Available(ctx); {
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
		without(err)
		return nil, nil
	case err != nil:
		return nil, connect.Explain(err, connect.ServerName(config), connect.DialTimeout)
	}
	return l, nil
}
