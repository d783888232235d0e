package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"
)

// leaseTimeout bounds one request for the lease.
const leaseTimeout = 5 * time.Second

// leaseResource is the name of the lease in the history.
const leaseResource = "leases"

// errHeldByOther is returned instead of releasing a lease that somebody else holds.
var errHeldByOther = errors.New("the lease is not released: it is not held")

// Leases wraps a client of leases, so that the guard observes how the lease is
// acquired and renewed under an identity. While the API server does not answer,
// requests for the lease wait: the leader election would give up, although
// nobody else can acquire the lease meanwhile, or has acquired it, which the
// next read shows. The context bounds the wait.
func (g *Guard) Leases(ctx context.Context, leases coordinationclient.LeasesGetter, identity string) coordinationclient.LeasesGetter {
	return guardedLeases{ctx, leases, g, identity}
}

type guardedLeases struct {
	ctx      context.Context
	leases   coordinationclient.LeasesGetter
	guard    *Guard
	identity string
}

func (l guardedLeases) Leases(namespace string) coordinationclient.LeaseInterface {
	return &guardedLease{LeaseInterface: l.leases.Leases(namespace), guardedLeases: l}
}

// guardedLease is the lease in a namespace. The leader election uses it from one
// goroutine at a time.
type guardedLease struct {
	coordinationclient.LeaseInterface
	guardedLeases
}

// Get implements [coordinationclient.LeaseInterface].
func (l *guardedLease) Get(_ context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error) {
	return l.request(read, func(ctx context.Context) (*coordinationv1.Lease, error) {
		return l.LeaseInterface.Get(ctx, name, options)
	})
}

// Create implements [coordinationclient.LeaseInterface]. A lease that somebody else held
// was deleted by a third. Whoever held it learns of that with its next renewal, in which it
// creates it again, and writes until then: so it comes first.
func (l *guardedLease) Create(_ context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error) {
	if l.guard.heldElsewhere() {
		pause(l.ctx, l.guard.options.LeaseTime)
	}
	return l.request(written, func(ctx context.Context) (*coordinationv1.Lease, error) {
		return l.LeaseInterface.Create(ctx, lease, options)
	})
}

// Update implements [coordinationclient.LeaseInterface].
func (l *guardedLease) Update(_ context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if ptr.Deref(lease.Spec.HolderIdentity, "") == "" && !l.guard.release() {
		return nil, errHeldByOther
	}
	return l.request(written, func(ctx context.Context) (*coordinationv1.Lease, error) {
		return l.LeaseInterface.Update(ctx, lease, options)
	})
}

// access is what a request does with the lease.
type access bool

const (
	read    access = false
	written access = true
)

// request sends a request for the lease until the API server answers.
func (l *guardedLease) request(how access, send func(context.Context) (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	for {
		if err := l.guard.await(l.ctx, l.guard.mayRead); err != nil {
			return nil, err
		}
		began, before := now(), l.guard.version(leaseResource)
		lease, err := l.once(send)
		switch {
		case err == nil:
			return lease, l.guard.learn(lease, how, l.identity, began, before)
		case l.ctx.Err() != nil || answered(err):
			return nil, err
		}
		l.guard.Doubt()
		pause(l.ctx, secondTry)
		if err := l.guard.await(l.ctx, l.guard.certain); err != nil {
			return nil, err
		}
	}
}

func (l *guardedLease) once(send func(context.Context) (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	// Its own context: that of the leader election has expired after a long outage
	// of the API server, and is cancelled when the lease is released.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), leaseTimeout)
	defer cancel()
	return send(ctx)
}

// answered reports whether an error is a response of the API server.
func answered(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && status.Status().Code < 500
}

// learn reads from a lease who holds it. Before is the newest version that was
// observed when it was requested. Reading that the lease is held renews
// nothing.
func (g *Guard) learn(lease *coordinationv1.Lease, how access, identity string, began moment, before string) error {
	g.hear()
	if err := checkNotLower(leaseResource, before, lease.ResourceVersion); errors.Is(err, ErrRewound) {
		g.end(err)
		return err
	}
	g.observe(leaseResource, lease.ResourceVersion)
	holder, lost := ptr.Deref(lease.Spec.HolderIdentity, ""), false
	g.set(func() {
		g.elsewhere = holder != identity && holder != ""
		switch {
		case holder != identity:
			lost = g.renewed.known()
			g.renewed = moment{}
		case how == written:
			g.renewed = began
		}
	})
	if lost {
		g.end(fmt.Errorf("%w: it is held by %q now", ErrLeaseLost, holder))
	}
	return nil
}

// release reports whether the lease may be released: it is held, as far as is
// known. From then on nothing is written.
func (g *Guard) release() (held bool) {
	g.set(func() {
		held = g.renewed.known() && !g.ended
		g.renewed = moment{}
	})
	return held
}

// heldElsewhere reports whether somebody else held the lease when it was read last.
func (g *Guard) heldElsewhere() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.elsewhere
}

// version returns the newest observed version of a resource.
func (g *Guard) version(resource string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.newest[resource]
}
