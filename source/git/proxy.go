package git

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"golang.org/x/net/proxy"

	"github.com/nodepools/nodepools/source"
)

// A Proxy returns the proxy for requests to a URL, nil for none. The scheme of a proxy
// is http, https, socks5 or socks5h, and its user information what to log in with.
type Proxy func(target *url.URL) (*url.URL, error)

// proxyOf returns the proxy for a request, nil for none.
func (t *target) proxyOf(request *http.Request) (*url.URL, error) {
	if t.Proxy != nil {
		return t.Proxy(request.URL)
	}
	return http.ProxyFromEnvironment(request)
}

// proxiesInUse are those for the requests of a conversation. A connection to one is
// distinguished from a connection to the server by its address.
type proxiesInUse struct {
	*target
	mu    sync.Mutex
	known map[string]bool
}

// of is the proxy for a request, or nil.
func (p *proxiesInUse) of(request *http.Request) (*url.URL, error) {
	by, err := p.proxyOf(request)
	if err != nil || by == nil {
		return by, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[string]bool{}
	}
	p.known[proxyAddress(by)] = true
	return by, nil
}

// has reports whether a connection to host and port is one to a proxy.
func (p *proxiesInUse) has(address string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[address]
}

// unclear explains an answer of which it is not known whether it is the proxy's; nil
// where there is no proxy, or another explanation.
func (p *proxiesInUse) unclear(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ours *source.Error
	if len(p.known) == 0 || errors.As(err, &ours) || p.certificate(err) != nil || p.network(err) != nil ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return p.fail(source.ErrUnreachable, "what answers, the proxy or the server behind it, does not speak the protocol that is expected there").
		WithHint("check the addresses of the proxy and of the repository, their ports above all")
}

// notHTTP explains a proxy that speaks something else.
func (t *target) notHTTP() error {
	return t.fail(source.ErrUnreachable, "the proxy does not answer as one of http does").WithHint("check the address of the proxy, its port above all")
}

// proxyAddress is the host and the port of a proxy.
func proxyAddress(by *url.URL) string {
	port := by.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[strings.ToLower(by.Scheme)]
	}
	return net.JoinHostPort(by.Hostname(), port)
}

// proxyDialer connects to a proxy, which is what the administrator has set, and often
// on this machine.
func proxyDialer() *net.Dialer { return &net.Dialer{Timeout: 30 * time.Second} }

// dialServer connects to a server of ssh, by a proxy where the repository has one. The
// proxies of the environment are for https and http.
func (t *target) dialServer(ctx context.Context) (net.Conn, error) {
	address := t.address.dialAddress()
	if t.Proxy != nil {
		by, err := t.Proxy(&url.URL{Scheme: "https", Host: address})
		switch {
		case err != nil:
			return nil, err
		case by == nil:
		case strings.HasPrefix(by.Scheme, "socks5"):
			return dialSOCKS(ctx, by, address)
		default:
			return t.dialTunnel(ctx, by, address)
		}
	}
	return t.dialer().DialContext(ctx, "tcp", address)
}

func dialSOCKS(ctx context.Context, by *url.URL, address string) (net.Conn, error) {
	var login *proxy.Auth
	if by.User != nil {
		password, _ := by.User.Password()
		login = &proxy.Auth{User: by.User.Username(), Password: password}
	}
	dialer, err := proxy.SOCKS5("tcp", proxyAddress(by), login, proxyDialer())
	if err != nil {
		return nil, err
	}
	return dialer.(proxy.ContextDialer).DialContext(ctx, "tcp", address)
}

// dialTunnel has a proxy of http or https connect to an address.
func (t *target) dialTunnel(ctx context.Context, by *url.URL, address string) (net.Conn, error) {
	conn, err := proxyDialer().DialContext(ctx, "tcp", proxyAddress(by))
	if err != nil {
		return nil, &net.OpError{Op: proxyConnect, Net: "tcp", Err: err}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	tunnel, err := t.connect(ctx, conn, by, address)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return tunnel, nil
}

// maxProxyAnswer is how much a proxy may say before the tunnel begins, in bytes.
const maxProxyAnswer = 64 << 10

// connect asks a proxy for a tunnel: https://www.rfc-editor.org/rfc/rfc9110#CONNECT
func (t *target) connect(ctx context.Context, conn net.Conn, by *url.URL, address string) (net.Conn, error) {
	if by.Scheme == "https" {
		roots, err := t.roots()
		if err != nil {
			return nil, err
		}
		secured := tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: by.Hostname(), MinVersion: tls.VersionTLS12})
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		conn = secured
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	request.Header.Set("User-Agent", capability.DefaultAgent()+" nodepools")
	if by.User != nil {
		password, _ := by.User.Password()
		request.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(by.User.Username()+":"+password)))
	}
	if err := request.Write(conn); err != nil {
		return nil, err
	}
	early := bufio.NewReader(io.LimitReader(conn, maxProxyAnswer))
	answer, err := http.ReadResponse(early, request) //nolint:bodyclose // what follows is the tunnel's
	switch {
	case err != nil && t.network(err) != nil:
		return nil, err
	case err != nil:
		return nil, t.notHTTP()
	}
	if err := t.proxyAnswered(answer.StatusCode); err != nil {
		return nil, err
	}
	return &tunnel{Conn: conn, early: early}, nil
}

// tunnel is a connection of which some may have come with the answer of the proxy.
type tunnel struct {
	net.Conn
	early *bufio.Reader
}

func (t *tunnel) Read(b []byte) (int, error) {
	if came := t.early.Buffered(); came > 0 {
		return t.early.Read(b[:min(came, len(b))])
	}
	return t.Conn.Read(b)
}

// proxyConnect is what net/http calls an attempt to connect to a proxy, in a
// [net.OpError].
const proxyConnect = "proxyconnect"

// proxyUnreached explains why there is no connection to a proxy; nil where err is of
// something else.
func (t *target) proxyUnreached(err error) *source.Error {
	var attempt *net.OpError
	if !errors.As(err, &attempt) || attempt.Op != proxyConnect && !strings.HasPrefix(attempt.Op, "socks") {
		return nil
	}
	var dns *net.DNSError
	var errno syscall.Errno
	text := ""
	switch {
	case errors.As(attempt.Err, &dns) && dns.IsNotFound:
		text = "the host name of the proxy is not known"
	case errors.As(attempt.Err, &dns):
		text = "the host name of the proxy cannot be looked up"
	case errors.As(attempt.Err, &errno):
		text = "no connection to the proxy: " + errno.Error()
	default:
		return nil
	}
	return t.fail(source.ErrUnreachable, text).WithHint("check the address of the proxy, its port above all, and that it runs")
}

// proxyAnswered explains the answer of a proxy that was asked for a tunnel.
func (t *target) proxyAnswered(code int) error {
	switch code {
	case http.StatusOK:
		return nil
	case http.StatusProxyAuthRequired:
		return t.proxyLogin()
	}
	return t.fail(source.ErrUnreachable, fmt.Sprintf("the proxy answered with HTTP status %d", code)).
		WithHint("check that the proxy allows connections to the host and the port of the URL")
}

// proxyLogin explains a proxy that does not take the login.
func (t *target) proxyLogin() *source.Error {
	if t.Proxy == nil {
		return t.fail(source.ErrUnreachable, "the proxy wants a credential").WithHint("name the proxy with spec.proxySecretRef, or with its credential in the environment of the controller")
	}
	return t.fail(source.ErrUnreachable, "the proxy wants a credential, or another one").WithHint("correct username and password in the Secret that spec.proxySecretRef names")
}

// socksRefused explains what a proxy of SOCKS has answered. golang.org/x/net has no
// type for it, only texts of its own.
func (t *target) socksRefused(answer error) *source.Error {
	if strings.Contains(answer.Error(), "authentication") {
		return t.proxyLogin()
	}
	return t.fail(source.ErrUnreachable, "the proxy does not connect to the server").
		WithHint("check that the proxy allows connections to the host and the port of the URL")
}
