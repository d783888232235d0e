package controller

import (
	"testing"
	"testing/synctest"
	"time"
)

// How long nodes wait for revisions that are being written.
func TestWholeWaits(t *testing.T) {
	waited := func(t *testing.T, s *poolSet) time.Duration {
		t.Helper()
		began := time.Now()
		if err := s.whole(t.Context()); err != nil {
			t.Error(err)
		}
		return time.Since(began)
	}
	for _, tc := range []struct {
		name string
		run  func(*poolSet)
		want time.Duration
	}{
		{name: "nothing is written", run: func(*poolSet) {}},
		{name: "done", run: func(s *poolSet) { s.hold("a"); s.release("a") }},
		{name: "never done", run: func(s *poolSet) { s.hold("a") }, want: maxHold},
		{name: "done after a while", run: func(s *poolSet) {
			s.hold("a")
			time.AfterFunc(time.Second, func() { s.release("a") })
		}, want: time.Second},
		{name: "another is done", run: func(s *poolSet) {
			s.hold("a")
			s.hold("b")
			s.release("b")
		}, want: maxHold},
		{name: "tried again and again", run: func(s *poolSet) {
			for range 9 {
				s.hold("a")
				time.Sleep(time.Second)
			}
		}, want: maxHold - 9*time.Second},
		{name: "the time is up, and it is tried again", run: func(s *poolSet) {
			s.hold("a")
			time.Sleep(maxHold)
			s.hold("a")
		}},
		{name: "the next revision", run: func(s *poolSet) {
			s.hold("a")
			time.Sleep(maxHold)
			s.release("a")
			s.hold("a")
		}, want: maxHold},
		{name: "sources that never rest", run: func(s *poolSet) {
			s.hold("a")
			time.AfterFunc(time.Second, func() { s.release("a"); s.hold("a") })
		}, want: time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newPoolSet(nil)
			tc.run(s)
			if got := waited(t, s); got != tc.want {
				t.Errorf("%s: waited for %v, want %v", tc.name, got, tc.want)
			}
			s.release("a")
		})
	}
}
