package examine

import (
	"context"
	"net/http"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/doctor"
)

const (
	// watchTime is how long a lease is polled whose holder may have another clock. One
	// that works renews it every three seconds.
	watchTime   = 8 * time.Second
	watchPeriod = 500 * time.Millisecond
)

// clock observes that of an API server.
type clock struct {
	http.RoundTripper
	seen func(time.Time)
}

// RoundTrip implements [http.RoundTripper].
func (c clock) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(request)
	if err == nil {
		if at, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			c.seen(at)
		}
	}
	return response, err
}

// observeClock has leases judged by the clock of the API server: that of a laptop may be
// anything.
func (r *reader) observeClock(next http.RoundTripper) http.RoundTripper {
	return clock{next, func(at time.Time) { r.clock = time.Until(at) }}
}

// now is the time of the API server, or of this machine where that does not say it.
func (r *reader) now() time.Time { return time.Now().Add(r.clock) }

// leases reads the one of the controller, and those of others in other namespaces.
func (r *reader) leases(ctx context.Context) error {
	key := client.ObjectKey{Namespace: r.namespace, Name: v1.LeaseName}
	lease := &coordinationv1.Lease{}
	found, err := r.get(ctx, doctor.Lease, "get leases", key, lease)
	if err != nil {
		return err
	}
	if found {
		r.state.Lease = lease
	}
	if r.state.Unread[doctor.Lease] == nil {
		var all coordinationv1.LeaseList
		// Who may read one lease and not all of them learns of that one.
		if err := r.client.List(ctx, &all, client.MatchingFields{"metadata.name": v1.LeaseName}); err != nil && !apierrors.IsForbidden(err) {
			return r.unless(doctor.Lease, "list leases", err)
		}
		for i := range all.Items {
			if all.Items[i].Namespace != r.namespace {
				r.state.OtherLeases = append(r.state.OtherLeases, &all.Items[i])
			}
		}
	}
	r.state.Now = r.now()
	if found && doctor.Held(lease) && !doctor.Current(lease, r.state.Now) {
		return r.watch(ctx, key)
	}
	return nil
}

// watch polls a lease until it is renewed, or for watchTime.
func (r *reader) watch(ctx context.Context, key client.ObjectKey) error {
	before := r.state.Lease.Spec.RenewTime
	for end := time.Now().Add(watchTime); time.Now().Before(end); {
		select {
		case <-ctx.Done(): // the next request says so
			return nil
		case <-time.After(watchPeriod):
		}
		lease := &coordinationv1.Lease{}
		found, err := r.get(ctx, doctor.Lease, "get leases", key, lease)
		if err != nil || !found {
			return err
		}
		r.state.Lease, r.state.Now = lease, r.now()
		if doctor.Held(lease) && !lease.Spec.RenewTime.Equal(before) {
			r.state.Renewed = true
			return nil
		}
	}
	return nil
}
