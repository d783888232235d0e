package connect

import (
	"context"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// DialTimeout bounds one attempt to connect. A server that is there answers
	// within milliseconds, and one that is not often does not refuse.
	DialTimeout = 10 * time.Second
	// maxSilence is how long an API server may say nothing: longer than it takes over
	// a request, which is a minute, and longer than a watch is without at least a
	// bookmark, which is a minute, too. It is less than the 90 seconds after which the
	// API server closes a connection that nobody uses.
	maxSilence = 80 * time.Second
)

// dialing returns what connects to an API server, and gives a connection up on which
// nothing came for so long. HTTP/2 asks a silent server whether it is still there;
// HTTP/1.1 does not, and the probes of TCP are answered by whatever stands between.
func dialing(silence time.Duration) func(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: DialTimeout, KeepAlive: 30 * time.Second}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return listened{connection, silence}, nil
	}
}

// listened is a connection that does not wait for longer than a time.
type listened struct {
	net.Conn
	silence time.Duration
}

func (l listened) Read(b []byte) (int, error) {
	if err := l.SetReadDeadline(time.Now().Add(l.silence)); err != nil {
		return 0, err
	}
	return l.Conn.Read(b)
}

// keptConnections is how many connections client-go keeps for the next requests.
const keptConnections = 25

// OnePerRequest has every request and every watch take a connection of its own, by
// HTTP/1.1. Thousands of events and writes cost both sides less than what HTTP/2
// does to let them share one, and an API server of several is not asked all of them
// alone. More requests at once than connections are kept for would begin with a
// handshake each: those share.
func OnePerRequest(config *rest.Config, atOnce int) {
	if atOnce > keptConnections {
		return
	}
	config.NextProtos = []string{"http/1.1"}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return repeatable{next} })
}

// repeatable has requests sent once more when a kept connection turns out to be closed
// before anything was answered. All that the controller writes can be repeated: what
// was carried out already says the same once more, or is refused as a conflict, as
// there already, or as gone, which the loops expect of every write.
type repeatable struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (r repeatable) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header["Idempotency-Key"] = nil // is not sent: see http.Transport
	return r.RoundTripper.RoundTrip(request)
}

// WrappedRoundTripper is for who looks for the transport.
func (r repeatable) WrappedRoundTripper() http.RoundTripper { return r.RoundTripper }
