package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// How long it takes until a server counts as absent, or as too slow. The clock is
// that of the bubble, and the network a pipe in it.
func TestGetInTime(t *testing.T) {
	const mebibyte = 1 << 20
	// send writes so many bytes every so often, with a length that is known.
	send := func(total, piece int, every time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(total))
			for left := total; left > 0; left -= piece {
				time.Sleep(every)
				if _, err := w.Write(make([]byte, min(piece, left))); err != nil {
					return
				}
				_ = http.NewResponseController(w).Flush()
			}
		}
	}
	for name, tc := range map[string]struct {
		reason  string
		dial    func(ctx context.Context) error // before there is a connection
		handler http.HandlerFunc
		want    string // in the error
		within  time.Duration
	}{
		"black hole": {"no packet comes back", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, nil,
			"no connection within 4s", 5 * time.Second},
		"no such name": {"what the resolver says is passed on", func(context.Context) error {
			return &net.DNSError{Err: "no such host", Name: "releases.example.com", IsNotFound: true}
		}, nil, "no such host", time.Second},
		"far away": {"a line by satellite needs seconds for a connection", func(context.Context) error { time.Sleep(3 * time.Second); return nil },
			send(mebibyte, mebibyte, time.Second), "", 5 * time.Second},
		"black hole behind a redirect": {"the first server is there and the second is not", nil, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://black-hole.example.com/", http.StatusFound)
		}, "black-hole.example.com: no connection within 4s", 5 * time.Second},
		"silent": {"it accepts, and that is all", nil, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			"no answer within 14s", 15 * time.Second},
		"stops in the middle": {"it sends a mebibyte of two", nil, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(2*mebibyte))
			_, _ = w.Write(make([]byte, mebibyte))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "too slow: 0 bytes in 10s", 21 * time.Second},
		"drips":           {"a byte each second is alive, and useless", nil, send(64, 1, 900*time.Millisecond), "bytes in 10s", 11 * time.Second},
		"crawls":          {"at 20 KiB/s, building is faster", nil, send(60*mebibyte, 20<<10, time.Second), "KiB in 10s", 21 * time.Second},
		"slow and honest": {"at 30 KiB/s it takes an hour, which is for the user to decide", nil, send(100*mebibyte, 30<<10, time.Second), "", time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, end := pipeClient(t, tc.dial, tc.handler)
				defer end()
				start := time.Now()
				progress := 0
				err := c.get(t.Context(), "http://releases.example.com/file", 1<<30, io.Discard, func(int64, int64) { progress++ })
				took := time.Since(start)
				if took > tc.within {
					t.Errorf("%s: it took %s, want at most %s", tc.reason, took, tc.within)
				}
				if tc.want == "" && err != nil {
					t.Errorf("%s: %v", tc.reason, err)
				}
				if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !errors.Is(err, errUnavailable)) {
					t.Errorf("%s: the error is %v, want %q in it", tc.reason, err, tc.want)
				}
				if took > time.Minute && progress < int(took/tick)-1 {
					t.Errorf("%s: in %s, progress was shown %d times", tc.reason, took, progress)
				}
			})
		})
	}
}

// Two servers in a black hole cost no more than one, whatever is missing.
func TestAbsentServersCostLessThanFiveSeconds(t *testing.T) {
	components := testComponents(t)
	for name, todo := range map[string][]component{
		"all":                 components,
		"of the bundle alone": {components[0], components[3], components[4]},
		"of the site alone":   components[1:3],
		"of GitHub alone":     components[5:],
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				c, end := pipeClient(t, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, nil)
				defer end()
				d := newDownloader(testVersion, testOS, testArch)
				d.client = c
				start := time.Now()
				err := d.download(t.Context(), dir, dir, todo)
				if took := time.Since(start); took >= 5*time.Second {
					t.Errorf("it took %s", took)
				}
				if !errors.Is(err, errUnavailable) || strings.Count(err.Error(), "release site") > 1 || strings.Count(err.Error(), "envtest:") > 1 {
					t.Errorf("the error is %v", err)
				}
			})
		})
	}
}

// pipeClient returns a client of a server at the other end of a pipe; what black-hole
// says is dialed for ever.
func pipeClient(t *testing.T, dial func(context.Context) error, handler http.HandlerFunc) (c *client, end func()) {
	t.Helper()
	listener := pipes{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{Handler: handler}
	served := make(chan error)
	go func() { served <- server.Serve(listener) }()

	c = newClient()
	transport := c.http.Transport.(*http.Transport)
	transport.Proxy = nil
	transport.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "black-hole.") {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		if dial != nil {
			if err := dial(ctx); err != nil {
				return nil, err
			}
		}
		near, far := net.Pipe()
		listener.connections <- far
		return near, nil
	}
	return c, func() {
		transport.CloseIdleConnections()
		if err := server.Shutdown(context.Background()); err != nil { // waits for the handlers
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}
}

// pipes is a listener whose connections are pipes.
type pipes struct {
	connections chan net.Conn
	closed      chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.connections:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p pipes) Close() error   { close(p.closed); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func TestGetRefuses(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("text")) }))
	t.Cleanup(plain.Close)
	var redirect string
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, redirect, http.StatusFound) }))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it would tell of the client that does not trust it
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for name, tc := range map[string]struct {
		reason, address, redirect string
		limit                     int64
		want                      string
	}{
		"too much":      {"what should be small fills no disk", plain.URL, "", 3, "more than 3 bytes"},
		"as much":       {"the limit is allowed", plain.URL, "", 4, ""},
		"without TLS":   {"what a checksum rests on is kept", secure.URL, plain.URL, 4, "which is not https"},
		"in a circle":   {"somebody has to end it", secure.URL, secure.URL, 4, "stopped after 10 redirects"},
		"not trusted":   {"a proxy that reads along is not the server", secure.URL, "", 4, "certificate"},
		"no address":    {"an index may hold anything", "ftp://example.com/file", "", 4, "unsupported protocol scheme"},
		"not even that": {"an index may hold anything", "http://\x00", "", 4, "invalid control character"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient()
			t.Cleanup(c.http.CloseIdleConnections)
			if redirect = tc.redirect; redirect != "" {
				c.http.Transport.(*http.Transport).TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig
			}
			var text bytes.Buffer
			err := c.get(t.Context(), tc.address, tc.limit, &text, noProgress)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s: the error is %v, want %q in it", tc.reason, err, tc.want)
			}
		})
	}
}
