package access

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// askFrom returns the status of the answer to a request from an address.
func (s *scene) askFrom(host, token string) int {
	request := httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, "/metrics", nil)
	request.RemoteAddr = host + ":1234"
	request.Header.Set("Authorization", "Bearer "+token)
	answer := httptest.NewRecorder()
	s.Before(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(answer, request)
	return answer.Code
}

// A pod without any right that sends one token after the other, on many connections, keeps
// nobody else from reading: neither who was never let in before, nor who was.
func TestStrangersKeepNobodyFromReading(t *testing.T) {
	s := newScene(t)
	reader := s.token("reader")
	cluster.Eventually(t, "the reader may read", time.Minute, func() error {
		if code := s.askFrom("10.0.0.1", reader); code != http.StatusOK {
			s.mu.Lock()
			clear(s.known)
			s.mu.Unlock()
			return fmt.Errorf("the status is %d", code)
		}
		return nil
	})
	s.mu.Lock()
	clear(s.known)
	s.mu.Unlock()

	var asked, reviewed atomic.Int64
	var strangers sync.WaitGroup
	stop := make(chan struct{})
	defer strangers.Wait()
	defer close(stop)
	for i := range 200 {
		strangers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				asked.Add(1)
				if s.askFrom("10.0.0.66", fmt.Sprintf("stranger-%d-%d", i, n)) == http.StatusUnauthorized {
					reviewed.Add(1)
				}
			}
		})
	}
	cluster.Eventually(t, "the strangers have used up what may be asked at once", time.Minute, func() error {
		if asked.Load() < 200 || reviewed.Load() < reviewBurst {
			return fmt.Errorf("%d asked, %d were reviewed", asked.Load(), reviewed.Load())
		}
		return nil
	})
	if code := s.askFrom("10.0.0.1", reader); code != http.StatusOK {
		t.Errorf("who may read gets %d", code)
	}
	// Even at the address of the strangers, where their answer has to be renewed.
	let := request{digest(reader), "get", "/metrics"}
	s.mu.Lock()
	s.known[let] = answer{http.StatusOK, s.at.Add(-stale)}
	s.mu.Unlock()
	if code := s.askFrom("10.0.0.66", reader); code != http.StatusOK {
		t.Errorf("who was let in gets %d", code)
	}
}

// Many requests of one kind at a time are one review.
func TestRequestsShareAReview(t *testing.T) {
	s := newScene(t)
	nobody := s.token("writer")
	before := s.reviews()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { s.askFrom("10.0.0.1", nobody) })
	}
	all.Wait()
	if after := s.reviews(); after != before+2 {
		t.Errorf("there were %d reviews, want 2", after-before)
	}
	if len(s.turns.of) != 0 {
		t.Errorf("%d turns are remembered", len(s.turns.of))
	}
}
