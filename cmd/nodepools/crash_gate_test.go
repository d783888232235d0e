package main

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// gate stands between a controller and the API server. Everything goes through,
// until the write comes at which the controller is to be killed.
type gate struct {
	address string
	proxy   *httputil.ReverseProxy // to the API server
	git     http.Handler           // nil where there is none

	mu    sync.Mutex
	at    *moment // nil while nobody is to be killed
	kill  func()
	asked map[string]bool // the kinds of objects that were read since forget
}

// packRequest is by which a revision is fetched.
const packRequest = "POST git-upload-pack"

// moment is a write at which a controller is killed.
type moment struct {
	// write is its kind, as writeOf names it; empty for any.
	write string
	// nth of that kind it is, counted from 1 and since the gate was armed.
	nth int
	// carriedOut says that the API server carries the write out, and the
	// controller never hears of it. Else the API server never hears of it.
	carriedOut bool
}

func (m *moment) String() string {
	if m.carriedOut {
		return "after " + cmp.Or(m.write, "any write")
	}
	return "before " + cmp.Or(m.write, "any write")
}

func newGate(t *testing.T, config *rest.Config) *gate {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	silent := log.New(io.Discard, "", 0) // connections break here all the time
	g := &gate{proxy: &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(server) },
		Transport:     transport,
		FlushInterval: -1, // watches
		ErrorLog:      silent,
	}}
	listener := httptest.NewUnstartedServer(g)
	listener.Config.ErrorLog = silent
	listener.Start()
	t.Cleanup(func() {
		listener.CloseClientConnections()
		listener.Close()
	})
	g.address = listener.URL
	return g
}

// arm makes the gate kill at a moment, once.
func (g *gate) arm(at moment, kill func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at, g.kill = &at, kill
}

// disarm lets everything through again. It reports whether the moment had not come.
func (g *gate) disarm() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	waiting := g.at != nil
	g.at = nil
	return waiting
}

// reached counts a write down. It returns the moment when that has come.
func (g *gate) reached(write string) (*moment, func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at == nil || write == "" || g.at.write != "" && g.at.write != write {
		return nil, nil
	}
	if g.at.nth--; g.at.nth > 0 {
		return nil, nil
	}
	reached := g.at
	g.at = nil
	return reached, g.kill
}

// forget begins anew to note what is read.
func (g *gate) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = map[string]bool{}
}

// reads reports whether a kind of objects was read since forget.
func (g *gate) reads(kind string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked[kind]
}

func (g *gate) note(r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.asked != nil && r.Method == http.MethodGet {
		g.asked[kindOf(r)] = true
	}
}

// serveGit lets a repository be read through the gate, and returns its URL there.
func (g *gate) serveGit(t *testing.T, repository string) string {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	silent := log.New(io.Discard, "", 0)
	g.git = &cgi.Handler{
		Path: program, Args: []string{"http-backend"}, Root: gitRoot, Stderr: io.Discard, Logger: silent,
		Env: []string{
			"GIT_PROJECT_ROOT=" + filepath.Dir(repository), "GIT_HTTP_EXPORT_ALL=1",
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		},
	}
	return g.address + gitRoot + "/" + filepath.Base(repository)
}

// gitRoot is where Git repositories are, beside the paths of the API server.
const gitRoot = "/git"

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.note(r)
	var behind http.Handler = g.proxy
	if strings.HasPrefix(r.URL.Path, gitRoot+"/") {
		behind = g.git
	}
	at, kill := g.reached(writeOf(r))
	if at == nil {
		behind.ServeHTTP(w, r)
		return
	}
	if at.carriedOut {
		answer := httptest.NewRecorder()
		behind.ServeHTTP(answer, r.WithContext(context.WithoutCancel(r.Context())))
		if at.write == packRequest { // killed while it reads: half is there
			_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
			_ = http.NewResponseController(w).Flush() // it may have been killed
			time.Sleep(10 * time.Millisecond)         // for it to read
		}
	}
	kill()
	panic(http.ErrAbortHandler)
}

// writeOf is the kind of a write: "PATCH nodes", "PATCH nodepools/status",
// "dry-run PATCH nodepools". It is empty for what writes nothing, and for events
// and leases. What a repository is asked for counts as well.
func writeOf(r *http.Request) string {
	kind := kindOf(r)
	switch {
	case strings.HasPrefix(r.URL.Path, gitRoot+"/"):
		if isListing(r) {
			return ""
		}
		return r.Method + " " + path.Base(r.URL.Path)
	case r.Method == http.MethodGet, kind == "events", kind == "leases":
		return ""
	case r.URL.Query().Has("dryRun"):
		return "dry-run " + r.Method + " " + kind
	default:
		return r.Method + " " + kind
	}
}

// isListing reports whether a request to a Git server is for the list of refs: in version 2
// of the protocol the body says so.
func isListing(r *http.Request) bool {
	if r.Method != http.MethodPost {
		return false
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return err == nil && bytes.Contains(body, []byte("command=ls-refs"))
}

// kindOf is what a request is about: "nodes", "nodepools/status".
func kindOf(r *http.Request) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	skip := 3 // apis, group, version
	if parts[0] == "api" {
		skip = 2
	}
	if len(parts) > skip && parts[skip] == "namespaces" {
		skip += 2
	}
	parts = parts[min(skip, len(parts)):]
	switch len(parts) {
	case 0:
		return ""
	case 3:
		return parts[0] + "/" + parts[2]
	default:
		return parts[0]
	}
}

// anonymous is how a controller reaches the gate: it needs no credential there.
func anonymous(address string) *rest.Config { return &rest.Config{Host: address} }
