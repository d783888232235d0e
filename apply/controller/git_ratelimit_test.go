package controller

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A server that asks to be left alone is, for as long as it asks: the pools stay, the
// status says so once, and only who asks for a poll gets one.
func TestGitRateLimit(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	server := repo.serve(t)
	w.node("a1", role("a"))
	good := repo.commit(files{"pools/a.yaml": poolFile("a", "0")})
	w.source("limited", server.url())
	w.follows("limited", good)
	w.carries("a1", tiers("a", "0"))
	w.poolsReady("a")

	server.ill(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Retry-After", "3600")
		http.Error(rw, canary, http.StatusTooManyRequests)
	})
	w.stands("limited", v1.FetchedCondition, metav1.ConditionFalse, "RateLimited")
	mark := w.mark()
	server.requests()
	clock := newRepository(t)
	ticks := clock.serve(t)
	clock.commit(files{"pools/clock.yaml": poolFile("clock", "0")})
	w.source("clock", ticks.url())
	w.eventually("four polls of another source", func() error {
		if n := ticks.asked(listing); n < 5 {
			return fmt.Errorf("%d requests", n)
		}
		return nil
	})
	if lists, packs := server.requests(); lists+packs > 0 {
		t.Errorf("%d lists and %d packs were asked for, of a server that asks for none", lists, packs)
	}
	for _, write := range w.written(mark) {
		if strings.Contains(write, "limited") || strings.HasSuffix(write, " a") {
			t.Errorf("wrote %s while nothing changed", write)
		}
	}
	w.request("limited", "now")
	if lists, packs := server.requests(); lists != 1 || packs != 0 {
		t.Errorf("who asks for a poll gets %d lists and %d packs, want 1 and 0", lists, packs)
	}
	src, err := w.readSource("limited")
	w.do(err)
	if text := fmt.Sprint(messages(src)); !strings.Contains(text, "HTTP status 429, and asks to wait 1h0m0s") {
		t.Errorf("the status says %s", text)
	}
	for _, text := range append(w.eventsOf(src), w.log.text(), fmt.Sprint(messages(src))) {
		wantNoSecret(t, canary, text)
	}
	w.carries("a1", tiers("a", "0"))

	server.well()
	next := repo.commit(files{"pools/a.yaml": poolFile("a", "1")})
	w.request("limited", "again")
	w.follows("limited", next)
	w.carries("a1", tiers("a", "1"))
}
