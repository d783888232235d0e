package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/nodepools/nodepools/apply/guard"
)

// session is one life of a manager: from empty caches until the process ends, or
// until nothing that is in memory may be written any more. Then another begins. A
// process that ended instead would be started again later and later, and on a laptop
// by nobody.
type session struct {
	options *runOptions
	config  *rest.Config
	lease   *lease // nil without leader election
	logger  logr.Logger
	// held holds errors back while they may be those of an API server that is away.
	held *heldErrors
}

// errAnew ends a session after which another begins.
var errAnew = errors.New("everything is read anew")

// follow runs sessions until the context ends.
func (s session) follow(ctx context.Context) error {
	for {
		err := s.run(ctx)
		if ctx.Err() != nil || !errors.Is(err, errAnew) {
			return err
		}
		s.logger.Error(err, "nothing is written until everything is read anew")
		if err := s.awaitKinds(ctx); err != nil {
			return nil // it is to stop
		}
	}
}

// awaitKinds waits until the API server knows our kinds. One that has just been
// started serves those of custom resource definitions a moment after all others.
func (s session) awaitKinds(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		return demandNodePools(ctx, s.config) == nil, nil
	})
}

// run is one session.
func (s session) run(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	asked, err := witnesses(s.config)
	if err != nil {
		return err
	}
	options := guard.Options{
		Witnesses: asked,
		Lost:      s.lost,
		Back:      s.back,
		Settled:   s.held.settled,
		End:       func(cause error) { end(fmt.Errorf("%w: %w", errAnew, cause)) },
	}
	if s.lease != nil {
		options.LeaseTime = renewDeadline
	}
	g := guard.New(options)
	s.held.judge(g.InDoubt)
	guarded := rest.CopyConfig(s.config)
	guarded.Dial = g.Dial(guarded.Dial)
	guarded.Wrap(func(next http.RoundTripper) http.RoundTripper { return g.Transport(next) })
	mgr, err := s.options.manager(ctx, guarded, s.lease, g, s.held.logger(s.logger))
	if err != nil {
		return err
	}
	var watching sync.WaitGroup
	watching.Go(func() { g.Run(ctx) })
	err = mgr.Start(ctx)
	cause := context.Cause(ctx)
	end(nil)
	watching.Wait()
	if errors.Is(cause, errAnew) {
		return cause
	}
	if err != nil {
		return portHint(fmt.Errorf("controller: %w", err), "--metrics-bind-address")
	}
	return nil
}

func (s session) lost(err error) {
	s.held.drop()
	s.logger.Error(err, "the API server does not answer: nothing is read or written until it does", "server", serverName(s.config))
}

func (s session) back(after time.Duration) {
	s.logger.Info("the API server answers again", "server", serverName(s.config), "after", after.Round(time.Millisecond))
}
