package guard

import (
	"context"
	"io"
	"net"
	"net/http"
)

// Transport makes the requests of a client wait until they may be sent.
func (g *Guard) Transport(next http.RoundTripper) http.RoundTripper {
	return transport{next, g}
}

type transport struct {
	next  http.RoundTripper
	guard *Guard
}

// maxSends is how often a request is sent when its connection is lost.
const maxSends = 3

// RoundTrip implements [http.RoundTripper]. A request whose connection is lost
// is sent again once the API server answers: all writes of the controller may
// be repeated.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, may := request.Context(), t.guard.mayRead
	if writes(request) {
		may = t.guard.mayWrite
	}
	for sends := 1; ; sends++ {
		if err := t.guard.await(ctx, may); err != nil {
			if request.Body != nil {
				_ = request.Body.Close() // nothing was read from it
			}
			return nil, err
		}
		response, err := t.next.RoundTrip(t.late(request))
		if err == nil {
			if request.URL.Query().Get("watch") != "" {
				response.Body = watched{response.Body, t.guard}
			}
			return response, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		t.guard.Doubt()
		again := rewound(request)
		if again == nil || sends == maxSends || t.guard.await(ctx, t.guard.certain) != nil {
			return nil, err
		}
		request = again
	}
}

// rewound returns a request with its body from the start; nil where the body
// cannot be read again.
func rewound(request *http.Request) *http.Request {
	again := request.Clone(request.Context())
	if request.Body == nil || request.Body == http.NoBody {
		return again
	}
	if request.GetBody == nil {
		return nil
	}
	body, err := request.GetBody()
	if err != nil {
		return nil
	}
	again.Body = body
	return again
}

// WrappedRoundTripper lets k8s.io/apimachinery find the wrapped transport.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }

func writes(request *http.Request) bool {
	return request.Method != http.MethodGet && request.Method != http.MethodHead
}

// late makes a request that writes wait once more, when its connection is
// established and its body is about to be sent: the connection may be a new
// one, and the process may have been suspended since. Without the body the API
// server does nothing.
func (t transport) late(request *http.Request) *http.Request {
	if !writes(request) || request.Body == nil || request.Body == http.NoBody {
		return request
	}
	ctx := request.Context()
	request = request.Clone(ctx)
	request.Body = checked{request.Body, ctx, t.guard}
	if again := request.GetBody; again != nil {
		request.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			if err != nil {
				return nil, err
			}
			return checked{body, ctx, t.guard}, nil
		}
	}
	return request
}

// checked is the body of a request that writes.
type checked struct {
	io.ReadCloser
	ctx   context.Context
	guard *Guard
}

func (c checked) Read(b []byte) (int, error) {
	if err := c.guard.await(c.ctx, c.guard.mayWrite); err != nil {
		return 0, err
	}
	return c.ReadCloser.Read(b)
}

// watched is the response to a watch. It ends when an API server stops, or when
// it reads its store again.
type watched struct {
	io.ReadCloser
	guard *Guard
}

func (w watched) Read(b []byte) (int, error) {
	n, err := w.ReadCloser.Read(b)
	if err != nil {
		w.guard.Doubt()
	}
	return n, err
}

// Dial observes new connections: one may lead to another API server, or to the
// same one with another history.
func (g *Guard) Dial(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		g.Doubt()
		return heard{c, g}, nil
	}
}

// heard is a connection that records when something is received.
type heard struct {
	net.Conn
	guard *Guard
}

func (h heard) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	if n > 0 {
		h.guard.hear()
	}
	return n, err
}
