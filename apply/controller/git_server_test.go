package controller

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// gitServer is git http-backend behind an HTTP server that can be made ill, and
// that knows who asked for what.
type gitServer struct {
	t       *testing.T
	address string
	backend http.Handler

	mu       sync.Mutex
	fault    http.Handler // answers instead of Git; nil for a server that is well
	seen     []string
	running  *httptest.Server // nil while nobody listens
	released chan struct{}    // closed when hanging requests are released
}

// serve starts a server for repositories that lie beside this one.
func (r *repository) serve(t *testing.T) *gitServer {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	s := &gitServer{t: t, released: make(chan struct{})}
	s.backend = &cgi.Handler{
		Path:   program,
		Args:   []string{"http-backend"},
		Env:    append(gitEnvironment(), "GIT_PROJECT_ROOT="+filepath.Dir(r.dir), "GIT_HTTP_EXPORT_ALL=1"),
		Stderr: io.Discard,
		Logger: log.New(io.Discard, "", 0),
	}
	s.listen("127.0.0.1:0")
	t.Cleanup(func() {
		close(s.released)
		s.refuse()
	})
	return s
}

func (s *gitServer) listen(address string) {
	s.t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		s.t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(s)
	if err := server.Listener.Close(); err != nil {
		s.t.Fatal(err)
	}
	server.Listener = listener
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address, s.running = listener.Addr().String(), server
}

func (s *gitServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, kindOfGit(r))
	handler := s.fault
	s.mu.Unlock()
	if handler == nil {
		handler = s.backend
	}
	handler.ServeHTTP(w, r)
}

// The kinds of requests to a Git server.
const listing, packing = "list of refs", "pack"

// kindOfGit tells a request for the list of refs, or for what the server is, from one for a
// pack. In version 2 of the protocol the body says which it is.
func kindOfGit(r *http.Request) string {
	if r.Method == http.MethodGet {
		return listing
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if err == nil && bytes.Contains(body, []byte("command=ls-refs")) {
		return listing
	}
	return packing
}

func (s *gitServer) url() string { return "http://" + s.address + "/repo" }

// ill makes the server answer by a handler instead of Git.
func (s *gitServer) ill(fault http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// well undoes ill.
func (s *gitServer) well() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = nil
}

// refuse makes the server refuse connections, accept undoes it.
func (s *gitServer) refuse() {
	s.mu.Lock()
	running := s.running
	s.running = nil
	s.mu.Unlock()
	if running != nil {
		running.CloseClientConnections()
		running.Close()
	}
}

func (s *gitServer) accept() { s.listen(s.address) }

// hang answers nothing until whoever asks gives up.
func (s *gitServer) hang(_ http.ResponseWriter, r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.released:
	}
}

// halt holds every request for a pack until goOn is closed, and reports each by
// asked.
func (s *gitServer) halt() (asked <-chan struct{}, goOn chan<- struct{}) {
	began, released := make(chan struct{}), make(chan struct{})
	s.ill(func(w http.ResponseWriter, r *http.Request) {
		if kindOfGit(r) == packing {
			select {
			case began <- struct{}{}:
				<-released
			case <-released:
			}
		}
		s.backend.ServeHTTP(w, r)
	})
	return began, released
}

// requests are how often the list of refs was asked for, and how often a pack,
// since the server began or since the last call.
func (s *gitServer) requests() (lists, packs int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, request := range s.seen {
		if request == listing {
			lists++
		} else {
			packs++
		}
	}
	s.seen = nil
	return lists, packs
}

// asked reports whether there was any request of a kind since the last call of
// requests.
func (s *gitServer) asked(kind string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(s.seen), func(request string) bool { return request != kind }))
}
