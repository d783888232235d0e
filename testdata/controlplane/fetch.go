package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// client downloads files. It waits for a server for as long as that sends
// something: a slow line may take its time, and one that is dead costs seconds.
type client struct {
	http *http.Client

	// connect bounds how long it takes to get a connection: to look up the name,
	// to reach the host or the proxy, and to agree on TLS.
	connect time.Duration

	// In each window, at least floor bytes have to come, or the rest of the file.
	window time.Duration
	floor  int64
}

// newClient returns a client that takes proxies from the environment.
func newClient() *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // checksums are those of what is sent
	return &client{
		http:    &http.Client{Transport: transport, CheckRedirect: checkRedirect},
		connect: 4 * time.Second,
		window:  tick,
		floor:   256 << 10,
	}
}

// checkRedirect keeps a redirect from leaving TLS, which is what a checksum from
// the same server rests on.
func checkRedirect(next *http.Request, before []*http.Request) error {
	if len(before) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	if before[0].URL.Scheme == "https" && next.URL.Scheme != "https" {
		return fmt.Errorf("redirected to %s, which is not https", next.URL.Redacted())
	}
	return nil
}

// errUnavailable means that a server is unreachable, or too slow: other
// requests to it will fail too.
var errUnavailable = errors.New("unavailable")

// unavailable is an error that is [errUnavailable] and reads as its reason.
type unavailable struct{ reason error }

func (u unavailable) Error() string   { return u.reason.Error() }
func (u unavailable) Unwrap() []error { return []error{errUnavailable, u.reason} }

// get writes the file at an address, of at most limit bytes, to a writer. Each
// window, it calls progress with how many bytes have come, and of how many, or -1.
func (c *client) get(ctx context.Context, address string, limit int64, to io.Writer, progress func(done, total int64)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request, err := http.NewRequestWithContext(c.traced(ctx, cancel), http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	name := request.URL.Redacted()

	silence := time.AfterFunc(c.window+c.connect, func() { cancel(fmt.Errorf("no answer within %s", c.window+c.connect)) })
	response, err := c.http.Do(request)
	silence.Stop()
	if err != nil {
		return unavailable{fmt.Errorf("%s: %w", hostOf(err, request), causeOf(ctx, err))}
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %d %s", name, response.StatusCode, http.StatusText(response.StatusCode))
	}

	var done atomic.Int64
	stop := c.watch(cancel, &done, func(n int64) { progress(n, response.ContentLength) })
	n, err := io.Copy(to, &counted{io.LimitReader(response.Body, limit+1), &done})
	stop()
	switch cause := context.Cause(ctx); {
	case cause != nil && err != nil:
		return unavailable{fmt.Errorf("%s: %w", response.Request.URL.Host, cause)}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: the connection ended after %s", name, size(n))
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case n > limit:
		return fmt.Errorf("%s: more than %s", name, size(limit))
	}
	return nil
}

// traced returns a context that ends where a connection takes too long, be it
// the first one or that of a redirect.
func (c *client) traced(ctx context.Context, cancel context.CancelCauseFunc) context.Context {
	late := time.AfterFunc(c.connect, func() { cancel(fmt.Errorf("no connection within %s", c.connect)) })
	context.AfterFunc(ctx, func() { late.Stop() })
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { late.Reset(c.connect) },
		GotConn: func(httptrace.GotConnInfo) { late.Stop() },
	})
}

// watch cancels where fewer bytes than the floor come in a window, until stop.
func (c *client) watch(cancel context.CancelCauseFunc, done *atomic.Int64, progress func(int64)) (stop func()) {
	stopped := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(c.window)
		defer ticker.Stop()
		for last := int64(0); ; {
			select {
			case <-stopped:
				return
			case <-ticker.C:
			}
			now := done.Load()
			if now-last < c.floor {
				cancel(fmt.Errorf("too slow: %s in %s", size(now-last), c.window))
				return
			}
			progress(now)
			last = now
		}
	})
	return func() {
		close(stopped)
		watching.Wait()
	}
}

// hostOf returns the host that an error of a request is about: after a redirect,
// that is another one.
func hostOf(err error, request *http.Request) string {
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		if address, err := url.Parse(failed.URL); err == nil && address.Host != "" {
			return address.Host
		}
	}
	return request.URL.Host
}

// causeOf returns why a request has failed, without its address: why the context
// has ended, if it has.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// counted counts what is read.
type counted struct {
	io.Reader
	done *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.done.Add(int64(n))
	return n, err
}

// size writes a number of bytes for a reader.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
