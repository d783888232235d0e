package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Why a process may not go on.
var (
	errFell      = errors.New("the cluster has gone back in time")
	errLeaseLost = errors.New("the lease is lost")
)

const (
	// verifyPeriod is how often the store is asked without a doubt, verifyTimeout bounds
	// one question, and probePeriod is how often a server that does not answer is asked.
	verifyPeriod  = 20 * time.Second
	verifyTimeout = 5 * time.Second
	probePeriod   = time.Second
	// secondTry is how soon a server is asked once more before it counts as away.
	secondTry = 200 * time.Millisecond
	// leasePeriod is how often a write that waits for the lease looks at it.
	leasePeriod = 100 * time.Millisecond
	// maxSends is how often a request is sent when its connection is lost.
	maxSends = 3
)

// gate is between the controllers and the API server. It sends a request that writes only
// while both of these hold, and has it wait otherwise:
//
//   - The lease was renewed within renewDeadline, where there is one.
//   - The store was asked since the last connection was made or lost, and is at no lower
//     resourceVersion of nodes than was seen before.
//
// A request that the API server does not answer is sent again when it does.
type gate struct {
	// leased is set where there is a lease.
	leased bool
	// store returns the resourceVersion of nodes in the store, and seen the one that the
	// cache has read; empty where it has read none.
	store func(ctx context.Context) (string, error)
	seen  func() string
	// end is called when the process may not go on, and away and back when the API server
	// stops answering, and answers again.
	end  func(cause error)
	away func(err error)
	back func(after time.Duration)

	verifying chan struct{} // has room for the one that asks the store

	mu     sync.Mutex
	doubts int // are settled one by one by a question to the store
	asked  int // the doubts that are settled
	newest string
	// renewed is when the last renewal of the lease began; zero while it is not held.
	renewed moment
	// elsewhere is set while another instance held the lease when it was read last.
	elsewhere bool
}

// doubt has the store asked before anything is written.
func (g *gate) doubt() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.doubts++
}

func (g *gate) certain() (doubts int, certain bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.doubts, g.doubts == g.asked
}

// await returns when the API server answers and nothing is in doubt. One caller asks.
func (g *gate) await(ctx context.Context) error {
	select {
	case g.verifying <- struct{}{}:
		defer func() { <-g.verifying }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var since time.Time // of the first failure
	for failures := 0; ; {
		doubts, certain := g.certain()
		if certain {
			return nil
		}
		asked := time.Now()
		err := g.verify(ctx)
		switch {
		case err == nil:
			g.mu.Lock()
			g.asked = doubts
			g.mu.Unlock()
			if failures > 1 {
				g.back(time.Since(since))
			}
			failures = 0
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errFell):
			g.end(err)
			<-ctx.Done()
			return err
		case apierrors.IsTooManyRequests(err): // it answers
			pause(ctx, probePeriod)
			continue
		}
		if failures++; failures == 1 {
			since = asked
			pause(ctx, secondTry)
			continue
		}
		if failures == 2 {
			g.away(err)
		}
		pause(ctx, probePeriod)
	}
}

// verify asks the store, and returns errFell where it is at an earlier version than one that
// was seen before.
func (g *gate) verify(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	seen := g.seen()
	version, err := g.store(ctx)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, before := range []string{seen, g.newest} {
		if before == "" {
			continue
		}
		if order, err := resourceversion.CompareResourceVersion(version, before); err != nil {
			return fmt.Errorf("resourceVersion of nodes: %w", err)
		} else if order < 0 {
			return fmt.Errorf("%w: nodes are at resourceVersion %s, and were at %s before", errFell, version, before)
		}
	}
	g.newest = version
	return nil
}

// mayWrite waits until a request that writes may be sent.
func (g *gate) mayWrite(ctx context.Context) error {
	for {
		if err := g.await(ctx); err != nil {
			return err
		}
		g.mu.Lock()
		may := !g.leased || g.renewed.within(renewDeadline)
		g.mu.Unlock()
		if may {
			return nil
		}
		if pause(ctx, leasePeriod); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// transport has the requests of a client pass a gate.
type transport struct {
	*gate
	next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper]. All writes of the controller may be repeated.
func (g transport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, writes := request.Context(), request.Method != http.MethodGet && request.Method != http.MethodHead
	request = request.Clone(ctx)
	for sends := 1; ; sends++ {
		sent := request.Clone(ctx)
		if writes {
			if err := g.mayWrite(ctx); err != nil {
				return nil, errors.Join(err, closeBody(request))
			}
			sent.Body, sent.GetBody = g.late(ctx, request.Body), nil
		}
		response, err := g.next.RoundTrip(sent)
		if err == nil {
			if request.URL.Query().Has("watch") {
				response.Body = &watched{response.Body, g.gate}
			}
			return response, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		g.doubt()
		if sends == maxSends || g.await(ctx) != nil || !again(request) {
			return nil, err
		}
	}
}

// again has a request begin anew with its body, and reports whether it can.
func again(request *http.Request) bool {
	if request.Body == nil || request.Body == http.NoBody {
		return true
	}
	if request.GetBody == nil {
		return false
	}
	body, err := request.GetBody()
	request.Body = body
	return err == nil
}

func closeBody(request *http.Request) error {
	if request.Body == nil {
		return nil
	}
	return request.Body.Close()
}

// WrappedRoundTripper lets k8s.io/apimachinery find the wrapped transport.
func (g transport) WrappedRoundTripper() http.RoundTripper { return g.next }

// late has a write wait once more when its connection is there and its body is about to be
// sent: the connection may be a new one, and the process may have been suspended since.
func (g *gate) late(ctx context.Context, body io.ReadCloser) io.ReadCloser {
	if body == nil || body == http.NoBody {
		return body
	}
	return &lateBody{body, ctx, g}
}

type lateBody struct {
	io.ReadCloser
	ctx  context.Context
	gate *gate
}

func (b *lateBody) Read(p []byte) (int, error) {
	if err := b.gate.mayWrite(b.ctx); err != nil {
		return 0, err
	}
	return b.ReadCloser.Read(p)
}

// watched is the answer to a watch. It ends when an API server stops, or reads its store
// again.
type watched struct {
	io.ReadCloser
	gate *gate
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if err != nil {
		w.gate.doubt()
	}
	return n, err
}

// dial makes connections; each may lead to another API server, or to another history.
func (g *gate) dial(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err == nil {
			g.doubt()
		}
		return conn, err
	}
}

// run asks the store from time to time, until the context ends.
func (g *gate) run(ctx context.Context) {
	for pause(ctx, verifyPeriod); ctx.Err() == nil; pause(ctx, verifyPeriod) {
		g.doubt()
		_ = g.await(ctx) // it is to stop
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// moment is a point in time by two clocks. On Linux the monotonic clock stops while the
// machine sleeps, and the wall clock may be set: the longer time is the one that passed.
type moment struct{ at time.Time }

func (m moment) within(limit time.Duration) bool {
	now := time.Now()
	return !m.at.IsZero() && max(now.Sub(m.at), now.Round(0).Sub(m.at.Round(0))) < limit
}
