package git

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nodepools/nodepools/source"
)

const (
	infoRefs     = "/info/refs"
	service      = "git-upload-pack"
	version2     = "version=2"
	maxRedirects = 5
)

// httpServer speaks the smart HTTP protocol: https://git-scm.com/docs/http-protocol#_smart_clients.
// In version 2 each request is complete in itself.
type httpServer struct {
	*target
	ctx    context.Context
	client *http.Client
	base   string      // the repository's URL, after redirects
	bodies []io.Closer // of the answers so far

	proxies          *proxiesInUse
	wantsCertificate atomic.Bool // the server has asked for a certificate of the client
}

func (t *target) dialHTTP(ctx context.Context) (server, error) {
	auth, err := t.httpAuth()
	if err != nil {
		return nil, err
	}
	roots, err := t.roots()
	if err != nil {
		return nil, err
	}
	s := &httpServer{target: t, ctx: ctx, proxies: &proxiesInUse{target: t}, base: t.url()}
	s.client = &http.Client{
		Transport:     &credentialed{host: t.address.host, auth: auth, next: s.newTransport(roots)},
		CheckRedirect: s.follow,
	}
	return s, nil
}

// url is that of the repository, as it was given.
func (t *target) url() string { return t.address.scheme + "://" + t.address.host + t.address.path }

// isAt reports whether the URL of the repository is one to which it was not redirected, but
// for the ending that GitLab adds. Of one that has moved it is asked each time where to: its
// former place may come to be that of another one.
func (t *target) isAt(base string) bool { return base == t.url() || base == t.url()+".git" }

// newTransport makes connections that are this conversation's own and end with
// its context, at the latest. A listing a minute does not need to keep them.
func (s *httpServer) newTransport(roots *x509.CertPool) *http.Transport {
	direct := s.dialer()
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, GetClientCertificate: s.clientCertificate}
	return &http.Transport{
		Proxy:                  s.proxies.of,
		OnProxyConnectResponse: s.tunnel,
		DialContext: func(dialling context.Context, network, host string) (net.Conn, error) {
			dialer := direct
			if s.proxies.has(host) {
				dialer = proxyDialer()
			}
			conn, err := dialer.DialContext(dialling, network, host)
			if err != nil {
				return nil, err
			}
			context.AfterFunc(s.ctx, func() { _ = conn.Close() })
			return s.countedConn(conn), nil
		},
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    30 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		ForceAttemptHTTP2:      true,
	}
}

// clientCertificate answers a server that asks for a certificate of the client,
// with an empty one if there is none, and remembers that it asked.
func (s *httpServer) clientCertificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	s.wantsCertificate.Store(true)
	if s.Certificate == nil {
		return &tls.Certificate{}, nil
	}
	return s.Certificate, nil
}

// tunnel reads a proxy's answer: of one that refuses a tunnel net/http would
// make an error of no kind, out of the proxy's words.
func (t *target) tunnel(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
	return t.proxyAnswered(answer.StatusCode)
}

func (t *target) httpAuth() (HTTPAuth, error) {
	switch {
	case t.HTTPAuth == nil && t.SSHAuth == nil:
		return nil, nil
	case t.HTTPAuth == nil:
		return nil, t.fail(source.ErrInvalid, "the credential is not one for "+t.address.scheme)
	case t.address.scheme == "http":
		return nil, t.fail(source.ErrInvalid, "a credential is not sent over http, where anyone can read it").
			WithHint("use https")
	}
	return t.HTTPAuth, nil
}

func (t *target) roots() (*x509.CertPool, error) {
	if len(t.CABundle) == 0 {
		return nil, nil // those of the system
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(t.CABundle) {
		return nil, t.fail(source.ErrInvalid, "the CA bundle holds no certificate in PEM form")
	}
	return pool, nil
}

func (s *httpServer) advertise() (io.Reader, error) {
	res, err := s.send(http.MethodGet, s.base+infoRefs+"?service="+service, nil)
	if err != nil {
		return nil, err
	}
	if !hasType(res, "application/x-git-upload-pack-advertisement") {
		return nil, errGarbled
	}
	// What was redirected stays redirected, as with git: the request for the
	// pack goes where the refs came from.
	s.base = listedBy(res.Request.URL)
	return res.Body, nil
}

// listedBy is the URL of the repository whose refs are listed at another URL.
func listedBy(u *url.URL) string {
	repository := *u
	repository.RawQuery = ""
	return strings.TrimSuffix(repository.String(), infoRefs)
}

func (s *httpServer) request(body []byte) (io.Reader, error) {
	res, err := s.send(http.MethodPost, s.base+"/"+service, body)
	if err != nil {
		return nil, err
	}
	if !hasType(res, "application/x-git-upload-pack-result") {
		return nil, errGarbled
	}
	return res.Body, nil
}

func (s *httpServer) send(method, url string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(s.ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", agent+" nodepools")
	req.Header.Set("Git-Protocol", version2) // those that know no other version ignore it
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-git-upload-pack-request")
		req.Header.Set("Accept", "application/x-git-upload-pack-result")
	}
	res, err := s.client.Do(req)
	if err != nil {
		return nil, s.unanswered(err)
	}
	s.bodies = append(s.bodies, res.Body)
	if res.StatusCode != http.StatusOK {
		return nil, s.status(res) // the body is not even read
	}
	return res, nil
}

// unanswered explains a request that got no answer. From TLS 1.3 on a server
// judges the certificate of the client when the client has sent its request
// already: its alert and the end of the connection arrive in any order, and
// net/http may report no more than that the connection was lost.
func (s *httpServer) unanswered(err error) error {
	var ours *source.Error
	var timeout net.Error
	if unclear := s.proxies.unclear(err); unclear != nil && len(s.bodies) == 0 && s.ctx.Err() == nil {
		return unclear
	}
	switch {
	case !s.wantsCertificate.Load(), len(s.bodies) > 0, errors.As(err, &ours), s.ctx.Err() != nil,
		errors.As(err, &timeout) && timeout.Timeout():
		return err
	case s.Certificate == nil:
		return s.fail(source.ErrUnauthorized, "the server asks for a certificate of the client, and does not answer without one").
			WithHint("give one, with its key, as tls.crt and tls.key of " + s.Login.named())
	}
	return s.fail(source.ErrUnauthorized, "the server asks for a certificate of the client, and does not answer the one that it was given")
}

func hasType(res *http.Response, want string) bool {
	got, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return err == nil && got == want
}

// follow decides about a redirect. The listing of refs may move to another path
// of the same server, as when a repository is renamed; nothing moves to another
// host, port or scheme, where the URL that an administrator has checked would
// stand for something else. A credential takes it no further than its URL prefix. No
// request with a body moves at all.
func (s *httpServer) follow(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return s.fail(source.ErrRedirect, "the server redirects too often")
	case via[0].Method != http.MethodGet:
		return s.fail(source.ErrRedirect, "the server redirects a fetch")
	case req.URL.Scheme != "https" && req.URL.Scheme != "http":
		return s.fail(source.ErrRedirect, "the server redirects to something that is not http")
	case via[0].URL.Scheme == "https" && req.URL.Scheme == "http":
		return s.fail(source.ErrRedirect, "the server redirects from https to http")
	case !sameOrigin(via[0].URL, req.URL):
		return s.fail(source.ErrRedirect, "the server redirects to another host, port or scheme")
	case !isListing(req.URL):
		return s.fail(source.ErrRedirect, "the server redirects to a page that is no repository").
			WithHint("check the URL; servers redirect to a login page when the credential is missing")
	case req.URL.User != nil:
		return s.fail(source.ErrRedirect, "the server redirects to a URL with a credential")
	case !s.covers(listedBy(req.URL)):
		return s.fail(source.ErrRedirect, "the server redirects to a path outside of the URL prefix of the credential").
			WithHint("use the URL that the repository has now; if the credential is meant to be sent there, widen the url-prefix of " + s.Login.named())
	}
	return nil
}

// covers reports whether the credential may be sent to where a repository has moved. The
// ending that GitLab adds leads to the same one, also where that has a prefix of its own.
func (s *httpServer) covers(base string) bool {
	return s.Covers == nil || s.isAt(base) || s.Covers(base) == nil
}

func isListing(u *url.URL) bool {
	return strings.HasSuffix(u.Path, infoRefs) && u.RawQuery == "service="+service
}

// explainEnd: over http an answer with nothing in it is no answer.
func (s *httpServer) explainEnd() error { return errGarbled }

func (s *httpServer) close() {
	for _, body := range s.bodies {
		_ = body.Close() // it was read, or given up
	}
	s.client.CloseIdleConnections()
}

// credentialed adds the credential to requests for the host that it is meant
// for, and to no other, wherever redirects lead.
type credentialed struct {
	host string
	auth HTTPAuth
	next *http.Transport
}

func (c *credentialed) RoundTrip(req *http.Request) (*http.Response, error) {
	if c.auth != nil && req.URL.Scheme == "https" && req.URL.Host == c.host {
		req = req.Clone(req.Context())
		c.auth.SetAuth(req)
	}
	return c.next.RoundTrip(req)
}

// CloseIdleConnections is what http.Client looks for.
func (c *credentialed) CloseIdleConnections() { c.next.CloseIdleConnections() }
