package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lock tells a gate how the lease is acquired, renewed and lost. While the API server does
// not answer, its requests wait: the leader election would give up, although nobody else can
// acquire the lease meanwhile, or has acquired it, which the next read shows.
type lock struct {
	resourcelock.Interface
	gate *gate
	ctx  context.Context // of the process
}

// Get implements [resourcelock.Interface].
func (l lock) Get(ctx context.Context) (record *resourcelock.LeaderElectionRecord, raw []byte, err error) {
	err = l.send(ctx, func(ctx context.Context) (err error) {
		record, raw, err = l.Interface.Get(ctx)
		return err
	})
	if err == nil {
		l.gate.leaseRead(record.HolderIdentity, l.Identity())
	}
	return record, raw, err
}

// Create implements [resourcelock.Interface]. Where another instance held the lease, and
// somebody has deleted it, that instance creates it again with its next renewal: it is first.
func (l lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.gate.mu.Lock()
	elsewhere := l.gate.elsewhere
	l.gate.mu.Unlock()
	if elsewhere {
		pause(l.ctx, renewDeadline)
	}
	return l.renew(ctx, func(ctx context.Context) error { return l.Interface.Create(ctx, record) })
}

// Update implements [resourcelock.Interface]. A lease without a holder is given back: from
// then on nothing is written.
func (l lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity != "" {
		return l.renew(ctx, func(ctx context.Context) error { return l.Interface.Update(ctx, record) })
	}
	if !l.gate.leaseRenewed(moment{}) {
		return errors.New("the lease is not given back: it is not held")
	}
	return l.Interface.Update(ctx, record)
}

func (l lock) renew(ctx context.Context, send func(context.Context) error) error {
	var began moment
	err := l.send(ctx, func(ctx context.Context) error {
		began = moment{time.Now()}
		return send(ctx)
	})
	if err == nil {
		l.gate.leaseRenewed(began)
	}
	return err
}

// send sends a request for the lease until the API server answers, or once while the process
// stops. The context of the leader election has expired after a long outage.
func (l lock) send(election context.Context, send func(context.Context) error) error {
	for {
		parent := l.ctx
		if parent.Err() != nil {
			parent = election
		}
		ctx, cancel := context.WithTimeout(parent, leaseTimeout)
		err := send(ctx)
		cancel()
		if status := apierrors.APIStatus(nil); err == nil || errors.As(err, &status) && status.Status().Code < http.StatusInternalServerError {
			return err
		}
		l.gate.doubt()
		if l.gate.await(l.ctx) != nil {
			return err
		}
		pause(l.ctx, secondTry)
	}
}

// leaseRead notes who holds the lease. That it is held renews nothing.
func (g *gate) leaseRead(holder, identity string) {
	g.mu.Lock()
	held := !g.renewed.at.IsZero()
	g.elsewhere = holder != identity && holder != ""
	if holder != identity {
		g.renewed = moment{}
	}
	g.mu.Unlock()
	if held && holder != identity {
		g.end(fmt.Errorf("%w: it is held by %q now", errLeaseLost, holder))
	}
}

// leaseRenewed notes when the lease was renewed, and reports whether it was held before.
func (g *gate) leaseRenewed(began moment) (held bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	held = !g.renewed.at.IsZero()
	g.renewed = began
	return held
}
