package cluster

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// Proxy is between clients and the API server and injects the faults of
// [Proxy.Disturb]; at first none. It listens on loopback with a certificate of
// the cluster's authority and passes everything on as one user: a client
// certificate does not get through a proxy that ends TLS.
type Proxy struct {
	// Config is that of the user, through the proxy.
	Config *rest.Config
	// Dice returns the next of the random numbers, from 0 to 1, that decide which
	// share of the requests is disturbed. Set it before the first request.
	Dice func() float64

	server  *http.Server
	forward *httputil.ReverseProxy
	token   string

	mu          sync.Mutex
	faults      []*fault
	passages    []*Passage
	streams     map[*stream]bool
	connections map[*connection]bool
}

// Proxy starts a proxy for a user, such as one of [Cluster.AddUser]. Close it
// when its clients have ended. With further API servers, by configurations there, the
// requests go to one after the other of them and the user's.
func (c *Cluster) Proxy(user *rest.Config, further ...*rest.Config) (*Proxy, error) {
	var servers []*url.URL
	for _, config := range append([]*rest.Config{user}, further...) {
		server, err := url.Parse(config.Host)
		if err != nil {
			return nil, fmt.Errorf("start a proxy: %w", err)
		}
		servers = append(servers, server)
	}
	transport, err := rest.TransportFor(user)
	if err != nil {
		return nil, fmt.Errorf("start a proxy: %w", err)
	}
	certificate, err := tls.LoadX509KeyPair(c.authority.tlsCert, c.authority.tlsKey)
	if err != nil {
		return nil, fmt.Errorf("start a proxy: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start a proxy: %w", err)
	}
	p := &Proxy{
		Dice:    mathrand.Float64,
		token:   newToken(),
		streams: map[*stream]bool{}, connections: map[*connection]bool{},
	}
	p.Config = rest.CopyConfig(user)
	p.Config.Host = "https://" + listener.Addr().String()
	p.Config.BearerToken = p.token
	p.Config.CertData, p.Config.KeyData = nil, nil
	turn := atomic.Uint64{}
	p.forward = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(servers[turn.Add(1)%uint64(len(servers))])
			r.Out.Header.Del("Authorization")
		},
		Transport:      transport,
		FlushInterval:  -1, // the events of a watch go on as they come
		ModifyResponse: p.answer,
		ErrorHandler: func(_ http.ResponseWriter, r *http.Request, _ error) {
			if r.Context().Err() != nil { // the client itself gave up
				panic(http.ErrAbortHandler)
			}
			drop(r) // what happens to the API server happens to the client
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
	p.server = &http.Server{
		Handler:           http.HandlerFunc(p.serve),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}},
		ReadHeaderTimeout: time.Minute,
		ConnContext:       withConnection,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	go func() {
		// It returns when the proxy is closed, with no other error.
		_ = p.server.ServeTLS(&listenerOf{Listener: listener, proxy: p}, "", "")
	}()
	return p, nil
}

// Close ends the proxy and everything that passes through it.
func (p *Proxy) Close() error {
	err := p.server.Close()
	p.CloseConnections()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close the proxy: %w", err)
	}
	return nil
}

// newToken keeps other users of the machine from using the proxy.
func newToken() string {
	token := make([]byte, 16)
	rand.Read(token) // it never fails
	return hex.EncodeToString(token)
}

// serve handles a request, and injects a fault before the API server receives it.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+p.token)) == 0 {
		http.Error(w, "the proxy is for the client of its configuration", http.StatusUnauthorized)
		return
	}
	passing := p.admit(r)
	if f := passing.fault; f != nil {
		if !passing.wait(r.Context(), f.Hold, f.Delay) {
			return
		}
		if f.Before != nil {
			f.Before()
		}
		if f.DropRequest {
			drop(r)
		}
		if f.Code != 0 {
			p.answered(passing, f.Code)
			refuse(w, f.Fault)
			return
		}
	}
	ctx, cut := context.WithCancelCause(r.Context())
	defer cut(nil)
	passing.cut = cut
	p.forward.ServeHTTP(w, r.WithContext(context.WithValue(ctx, passingKey{}, passing)))
}

// answer injects a fault into the response of the API server.
func (p *Proxy) answer(response *http.Response) error {
	passing, ok := response.Request.Context().Value(passingKey{}).(*passing)
	if !ok {
		return errors.New("a request without its passage")
	}
	if passing.fault != nil && passing.fault.DropAnswer {
		return errDropped // ErrorHandler drops it
	}
	p.answered(passing, response.StatusCode)
	response.Body = p.newStream(response, passing)
	return nil
}

var errDropped = errors.New("dropped by a fault")

// drop resets the connection of a request, as a network may: other requests in
// flight on it are lost as well.
func drop(r *http.Request) {
	if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
		c.reset()
	}
	panic(http.ErrAbortHandler)
}
