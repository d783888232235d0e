// Package serve makes HTTP servers of which whoever can connect can take little: of the
// memory of the process, of its connections, and of the time that it takes to stop. Start
// with [Listen] and [NewServer].
package serve

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// Bounds of what whoever can connect may take.
const (
	// MaxConnections are served at a time; others wait.
	MaxConnections = 256
	// MaxOfHost of them may be of one host, so that none takes all; see [PerHost].
	MaxOfHost = 32
	// MaxHeader bounds the header of a request, in bytes. With net/http's own bound of a
	// mebibyte, some hundred connections would be all the memory of the process.
	MaxHeader = 32 << 10

	// headerTimeout, requestTimeout, answerTimeout and idleTimeout bound how long it takes
	// until a header has come, all of a request has, it is answered, and another one comes.
	headerTimeout  = 5 * time.Second
	requestTimeout = 10 * time.Second
	answerTimeout  = 40 * time.Second
	idleTimeout    = 90 * time.Second
)

// NewServer returns a server of HTTP/1.1. A client of HTTP/2 has many requests at a time.
func NewServer(handler http.Handler) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    MaxHeader,
		Protocols:         protocols,
		// Each line would be for one connection, and have what a stranger has sent.
		ErrorLog:                     log.New(io.Discard, "", 0),
		DisableGeneralOptionsHandler: true,
	}
}

// Listen listens for MaxConnections at a time.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return netutil.LimitListener(listener, MaxConnections), nil
}

// PerHost closes connections of a host that has MaxOfHost open. It is not for what is
// behind an Ingress, where all clients have one address.
func PerHost(listener net.Listener) net.Listener {
	return &perHost{Listener: listener, open: map[string]int{}}
}

// TLS returns how a certificate is served from its files, which are read again when they
// change, until the context ends. Failed is called when that is not noticed any more.
func TLS(ctx context.Context, certFile, keyFile string, failed func(error)) (*tls.Config, error) {
	watcher, err := certwatcher.New(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	go func() {
		if err := watcher.Start(ctx); err != nil {
			failed(err)
		}
	}()
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: watcher.GetCertificate}, nil
}

type perHost struct {
	net.Listener
	mu   sync.Mutex
	open map[string]int // connections by host
}

// Accept implements [net.Listener].
func (l *perHost) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
		if err == nil && l.take(host) {
			return &connection{Conn: conn, release: sync.OnceFunc(func() { l.give(host) })}, nil
		}
		conn.Close() //nolint:errcheck // nobody is to know of it
	}
}

func (l *perHost) take(host string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[host] >= MaxOfHost {
		return false
	}
	l.open[host]++
	return true
}

func (l *perHost) give(host string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[host]--; l.open[host] == 0 {
		delete(l.open, host)
	}
}

// connection is counted until it is closed.
type connection struct {
	net.Conn
	release func()
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	defer c.release()
	return c.Conn.Close()
}
