package git

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

// mute accepts connections and says nothing, or the given words only.
func mute(t testing.TB, words string) string {
	listener := listen(t)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go answer(conn, words)
		}
	}()
	return listener.Addr().String()
}

// answer says the words and waits until the other side has gone.
func answer(conn net.Conn, words string) {
	defer conn.Close()
	if strings.HasPrefix(words, "HTTP") {
		_, _ = conn.Read(make([]byte, 1)) // an answer comes after a question
	}
	_, _ = conn.Write([]byte(words))
	_, _ = io.Copy(io.Discard, conn)
}

// closed is an address at which nobody listens.
func closed(t testing.TB) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// slow are servers that do not get to the end, each in another place.
func slow(t testing.TB) map[string]*Repository {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": sources.Noise(100_000)})
	s := serveSSH(t)
	hang := func(at func(*http.Request) bool) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if at(req) {
					_, _ = io.Copy(io.Discard, req.Body) // without it the end of the connection is not seen
					<-req.Context().Done()
					return
				}
				next.ServeHTTP(w, req)
			})
		}
	}
	dripping := serveHTTP(t, r, true, drip)
	return map[string]*Repository{
		"http that never answers":          {URL: "http://" + mute(t, "") + "/a"},
		"http headers without end":         {URL: "http://" + mute(t, "HTTP/1.1 200 OK\r\nX: ") + "/a"},
		"http body without end":            {URL: "http://" + mute(t, "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\r\n00") + "/a"},
		"https without a handshake":        {URL: "https://" + mute(t, "") + "/a"},
		"http listing that hangs":          {URL: serveHTTP(t, r, false, hang(func(req *http.Request) bool { return req.Method == http.MethodGet })).repoURL()},
		"http refs that hang":              {URL: serveHTTP(t, r, false, hang(func(req *http.Request) bool { return req.Method == http.MethodPost })).repoURL()},
		"http pack that hangs":             {URL: serveHTTP(t, r, false, hang(fetches)).repoURL()},
		"http byte by byte":                {URL: serveHTTP(t, r, false, drip).repoURL()},
		"https byte by byte":               {URL: dripping.repoURL(), CABundle: dripping.ca()},
		"ssh that never answers":           {URL: "ssh://git@" + mute(t, "") + "/a", SSHAuth: s.auth()},
		"ssh that stops in the handshake":  {URL: "ssh://git@" + mute(t, "SSH-2.0-x\r\n") + "/a", SSHAuth: s.auth()},
		"ssh with a greeting without end":  {URL: "ssh://git@" + mute(t, "SSH-2.0-") + "/a", SSHAuth: s.auth()},
		"a program that does not continue": {URL: "file://" + stuck(t)},
	}
}

// stuck is a repository whose objects cannot be read to the end: a pipe stands
// in for its list of packed refs.
func stuck(t testing.TB) string {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	sources.Pipe(t, filepath.Join(r.Dir, ".git", "packed-refs"))
	return r.Dir
}

func TestServerBoundedTime(t *testing.T) {
	for name, g := range slow(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g.Timeout = 500 * time.Millisecond
			start := time.Now()
			_, err := both(t.Context(), g)
			sources.WantError(t, err, source.ErrTimeout)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v is no context.DeadlineExceeded", err)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

func TestServerCanceled(t *testing.T) {
	for name, g := range slow(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(300*time.Millisecond, cancel)
			_, err := both(ctx, g)
			sources.WantError(t, err, source.ErrCanceled)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v is no context.Canceled", err)
			}
		})
	}
}

func TestServerUnreachable(t *testing.T) {
	s := serveSSH(t)
	for name, g := range map[string]*Repository{
		"http":     {URL: "http://" + closed(t) + "/a"},
		"https":    {URL: "https://" + closed(t) + "/a"},
		"ssh":      {URL: "ssh://git@" + closed(t) + "/a", SSHAuth: s.auth()},
		"no name":  {URL: "http://nope.invalid/a"},
		"not http": {URL: "http://" + s.address + "/a", Timeout: 5 * time.Second},
		"not ssh":  {URL: "ssh://git@" + strings.TrimPrefix(serve(t, false, http.NotFoundHandler()).URL, "http://") + "/a", SSHAuth: s.auth(), Timeout: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := g.Head(t.Context())
			if kind := source.Reason(err); kind != "Unreachable" && (kind != "ServerFailed" || name != "not http") {
				t.Fatalf("%v is %s", err, kind)
			}
		})
	}
}

// After 1,000 calls that fail and succeed in every way, nothing is left.
func TestServerLeavesNothing(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"pools/a.yaml": sources.Noise(100_000)})
	s := serveSSH(t)
	secure, cut := serveHTTP(t, r, true, nil), serveHTTP(t, r, false, cutting(50_000))
	all := []*Repository{
		{URL: secure.repoURL(), CABundle: secure.ca()},
		{URL: serveHTTP(t, r, false, nil).repoURL()},
		{URL: s.repoURL(r), SSHAuth: s.auth()},
		{URL: r.URL()},
		{URL: cut.repoURL()},
		{URL: secure.repoURL()},
		{URL: r.URL(), Path: "nope"},
		{URL: r.URL() + "/nope"},
		{URL: s.repoURL(r) + "/nope", SSHAuth: s.auth()},
		{URL: s.repoURL(r), SSHAuth: s.auth(), Path: "nope"},
	}
	for _, g := range slow(t) {
		g.Timeout = 20 * time.Millisecond
		all = append(all, g)
	}
	run := func(times int) {
		var next atomic.Int64
		var running sync.WaitGroup
		for range 8 { // as many as the controller reads at once
			running.Go(func() {
				for i := next.Add(1); i <= int64(times); i = next.Add(1) {
					_, _ = both(t.Context(), all[int(i)%len(all)]) // errors are what this is about
				}
			})
		}
		running.Wait()
	}
	run(len(all)) // what the runtime, net and os/exec keep for good
	wantNoLeak(t, func() {
		run(1000)
		for _, w := range []*webServer{secure, cut} {
			w.CloseClientConnections() // the servers' side is in this process too
		}
	})
}

func TestErrorUnwrap(t *testing.T) {
	target := &target{Repository: &Repository{}, address: address{scheme: "https", host: "example.com", path: "/a"}}
	err := target.interrupted(context.Canceled)
	if !errors.Is(err, source.ErrCanceled) || !errors.Is(err, context.Canceled) || errors.Is(err, source.ErrTimeout) {
		t.Errorf("%v", err)
	}
}

func TestMain(m *testing.M) {
	// Nobody's proxy or known hosts take part.
	for _, name := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"} {
		if err := os.Unsetenv(name); err != nil {
			panic(err)
		}
	}
	if proxy := os.Getenv(proxiedBy); proxy != "" {
		if err := errors.Join(os.Setenv("HTTP_PROXY", proxy), os.Setenv("HTTPS_PROXY", proxy)); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
