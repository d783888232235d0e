package controller

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr/funcr"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// startUntil runs the loops up to a request that they do not get through with:
// the channel is closed then, and nothing gets through any more. Seen counts
// what they have asked before, as "DELETE nodepools".
func (w *gitWorld) startUntil(last func(seen map[string]int, request *http.Request) bool) (halted <-chan struct{}) {
	w.t.Helper()
	stopped, killed := make(chan struct{}), false
	w.startBehind(func(seen map[string]int, request *http.Request) error {
		if !killed && last(seen, request) {
			killed = true
			close(stopped)
		}
		if killed {
			return fmt.Errorf("killed before %s %s", request.Method, request.URL.Path)
		}
		return nil
	})
	w.t.Cleanup(func() {
		if w.t.Failed() { // else nobody releases what the test has left
			w.stop()
			w.start()
		}
	})
	return stopped
}

// startBehind runs the loops behind a gate that each of their requests has to
// pass, one at a time.
func (w *gitWorld) startBehind(gate func(seen map[string]int, request *http.Request) error) {
	w.t.Helper()
	user, err := w.cluster.AddUser(loopsUser, "system:masters")
	w.do(err)
	user.QPS = -1
	var mu sync.Mutex
	seen := map[string]int{}
	user.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			mu.Lock()
			err := gate(seen, request)
			resource, _, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/apis/nodes.lailin.xyz/v1/"), "/")
			seen[request.Method+" "+resource]++
			mu.Unlock()
			if err != nil {
				return nil, err
			}
			return next.RoundTrip(request)
		})
	})
	options := Options{FetchTimeout: 3 * time.Second, MaxRetry: time.Second}
	w.stop = startLoopsWith(w.t, user, options, funcr.New(w.log.add, funcr.Options{Verbosity: 10}))
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// killPoints are after how many of three deletions the loops are killed.
func killPoints() []int {
	if cluster.Stress() {
		return []int{0, 1, 2, 3}
	}
	return []int{1, 3}
}
