package push

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// plainError is of a request that would have left this machine without TLS.
type plainError struct{ host string }

func (e *plainError) Error() string { return e.host + " would be asked without TLS" }

// encrypted refuses what would send an image, and perhaps a password, without TLS to
// another machine: what is asked first, where a login is, and where a redirect leads.
type encrypted struct {
	next     http.RoundTripper
	insecure bool
	// untrusted has the errors of servers whose certificate is not trusted, by host. They
	// do speak TLS, and are not asked without it.
	untrusted sync.Map
}

func (t *encrypted) RoundTrip(request *http.Request) (*http.Response, error) {
	host := request.URL.Host
	if request.URL.Scheme != "https" {
		if err, found := t.untrusted.Load(host); found {
			return nil, err.(error)
		}
		if !t.insecure && !loopback(request.URL.Hostname()) {
			return nil, &plainError{host}
		}
	}
	response, err := t.next.RoundTrip(request)
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		t.untrusted.Store(host, err)
	}
	return response, err
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

func transportOf(given http.RoundTripper) http.RoundTripper {
	if given != nil {
		return given
	}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   15 * time.Second,
		ResponseHeaderTimeout: 2 * time.Minute, // a registry reads a layer to its end before it answers
		ExpectContinueTimeout: time.Second,
	}
}
