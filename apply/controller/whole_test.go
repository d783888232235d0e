package controller

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
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
		{name: "done", run: func(s *poolSet) { s.hold("a", "1"); s.release("a") }},
		{name: "never done", run: func(s *poolSet) { s.hold("a", "1") }, want: maxHold},
		{name: "done after a while", run: func(s *poolSet) {
			s.hold("a", "1")
			time.AfterFunc(time.Second, func() { s.release("a") })
		}, want: time.Second},
		{name: "another is done", run: func(s *poolSet) {
			s.hold("a", "1")
			s.hold("b", "1")
			s.release("b")
		}, want: maxHold},
		{name: "tried again and again", run: func(s *poolSet) {
			for range 9 {
				s.hold("a", "1")
				time.Sleep(time.Second)
			}
		}, want: maxHold - 9*time.Second},
		{name: "the time is up, and it is tried again", run: func(s *poolSet) {
			s.hold("a", "1")
			time.Sleep(maxHold)
			s.hold("a", "1")
		}},
		{name: "a revision of the process before", run: func(s *poolSet) {
			s.cached.(*poolList).sources = []v1.NodePoolSource{
				{ObjectMeta: metav1.ObjectMeta{Name: "whole"}, Status: v1.NodePoolSourceStatus{Revision: "main@sha1:0"}},
				{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: v1.NodePoolSourceStatus{ApplyingRevision: "main@sha1:1"}},
			}
		}, want: maxHold},
		{name: "that is finished before anybody waits", run: func(s *poolSet) {
			s.cached.(*poolList).sources = []v1.NodePoolSource{
				{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: v1.NodePoolSourceStatus{ApplyingRevision: "main@sha1:1"}},
			}
			if err := s.resume(t.Context()); err != nil {
				t.Error(err)
			}
			s.release("a") // the cache of sources may not have seen it yet
		}},
		{name: "the next revision", run: func(s *poolSet) {
			s.hold("a", "1")
			time.Sleep(maxHold)
			s.release("a")
			s.hold("a", "1")
		}, want: maxHold},
		{name: "the next revision, where the one before was never done", run: func(s *poolSet) {
			s.hold("a", "1")
			time.Sleep(2 * maxHold)
			s.hold("a", "2")
		}, want: maxHold},
		{name: "the next revision, before the time of the one before is up", run: func(s *poolSet) {
			s.hold("a", "1")
			time.Sleep(maxHold / 2)
			s.hold("a", "2")
		}, want: maxHold},
		{name: "sources that never rest", run: func(s *poolSet) {
			s.hold("a", "1")
			time.AfterFunc(time.Second, func() { s.release("a"); s.hold("a", "1") })
		}, want: time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newPoolSet(&poolList{})
			tc.run(s)
			if got := waited(t, s); got != tc.want {
				t.Errorf("%s: waited for %v, want %v", tc.name, got, tc.want)
			}
			s.release("a")
		})
	}
}
