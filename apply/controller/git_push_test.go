package controller

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// hookToken has no word in it that a message may have.
const hookToken = "s3cr3t-canary-kq7zw4nvx2"

// A push is followed at once, however long the interval. What that takes above the fetch
// is printed; what is asserted is what it costs.
func TestGitPushIsFollowed(t *testing.T) {
	w := newPushWorld(t)
	w.token("hook", v1.WebhookSecretType, hookToken)
	var above []time.Duration
	for i := range 5 {
		name := fmt.Sprintf("p%d", i)
		repo := newRepository(t)
		server := repo.serve(t)
		w.node("n-"+name, role(name))
		w.source(name, server.url(), rarely, hooked("hook"))
		w.follows(name, repo.commit(files{"pools/a.yaml": poolFile(name, "0")}))
		w.poolsReady(name)
		path := w.path(name)
		fetching := server.measure()
		next := repo.commit(files{"pools/a.yaml": poolFile(name, "1")})
		server.requests()
		mark, start := w.mark(), time.Now()
		if status := w.push(path, hookToken); status != http.StatusAccepted {
			t.Fatalf("the answer is %d", status)
		}
		w.carries("n-"+name, tiers(name, "1"))
		above = append(above, time.Since(start)-fetching())
		w.follows(name, next)
		if lists, packs := server.requests(); lists != 1 || packs != 1 {
			t.Errorf("a push led to %d lists and %d packs, want those of one poll, which fetches: 1 and 1", lists, packs)
		}
		if asked := w.asked(mark); asked["patch nodepoolsources"] != 1 || asked["get secrets"] > 1 || len(asked) > 2 {
			t.Errorf("a push led to %v", asked)
		}
		src := w.mustRead(name)
		if src.Annotations[v1.RequestedAtAnnotation] == "" || src.Status.LastHandledReconcileAt != src.Annotations[v1.RequestedAtAnnotation] {
			t.Errorf("it was asked for at %q, and %q is handled", src.Annotations[v1.RequestedAtAnnotation], src.Status.LastHandledReconcileAt)
		}
	}
	slices.Sort(above)
	t.Logf("from the request to the first node changed, above the fetch: median %v, longest %v of %d", above[2], above[4], len(above))
	wantNoSecret(t, hookToken, w.said.text()+reachable(w.log.text()))
}

// measure returns a function that reports how long the server was busy since.
func (s *gitServer) measure() func() time.Duration {
	var busy atomic.Int64
	s.ill(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		s.backend.ServeHTTP(w, r)
		busy.Add(int64(time.Since(start)))
	})
	return func() time.Duration { return time.Duration(busy.Load()) }
}

// A burst of deliveries is one poll at its begin and one for each period, and what was
// pushed last is followed, also where it came in the middle of one.
func TestGitBurstOfPushes(t *testing.T) {
	w := newPushWorld(t)
	w.token("hook", v1.WebhookSecretType, hookToken)
	repo := newRepository(t)
	w.node("a1", role("a"))
	w.source("burst", repo.serve(t).url(), rarely, hooked("hook"))
	w.follows("burst", repo.commit(files{"pools/a.yaml": poolFile("a", "0")}))
	w.poolsReady("a")
	path := w.path("burst")

	// polls reports how many were asked for, and how many may have been since.
	polls := func(mark int64, start time.Time) (asked, most int) {
		return w.asked(mark)["patch nodepoolsources"], 2 + int(time.Since(start)/(2*time.Second))
	}
	mark, start := w.mark(), time.Now()
	next := repo.commit(files{"pools/a.yaml": poolFile("a", "1")})
	var sending sync.WaitGroup
	for range 100 {
		sending.Go(func() {
			if status := w.push(path, hookToken); status != http.StatusAccepted {
				t.Errorf("the answer is %d", status)
			}
		})
	}
	sending.Wait()
	w.follows("burst", next)
	w.carries("a1", tiers("a", "1"))
	if asked, most := polls(mark, start); asked < 1 || asked > most {
		t.Errorf("100 deliveries led to %d polls, want at most %d", asked, most)
	}

	// Pushes one after the other: none of those before the last is waited for.
	mark, start = w.mark(), time.Now()
	for i := range 20 {
		next = repo.commit(files{"pools/a.yaml": poolFile("a", fmt.Sprint("push-", i))})
		if status := w.push(path, hookToken); status != http.StatusAccepted {
			t.Errorf("the answer is %d", status)
		}
	}
	w.follows("burst", next)
	w.carries("a1", tiers("a", "push-19"))
	if asked, most := polls(mark, start); asked > most {
		t.Errorf("20 pushes led to %d polls, want at most %d", asked, most)
	}

	// A receiver that ends asks at once for what it has promised.
	next = repo.commit(files{"pools/a.yaml": poolFile("a", "before-the-end")})
	if status := w.push(path, hookToken); status != http.StatusAccepted {
		t.Errorf("the answer is %d", status)
	}
	w.stop()
	w.follows("burst", next)
}

// What is wrong with a webhook is reported, and the source is polled all the same.
func TestGitWebhookTrouble(t *testing.T) {
	w := newPushWorld(t)
	w.token("hook", v1.WebhookSecretType, hookToken)
	repo := newRepository(t)
	w.node("a1", role("a"))
	first := repo.commit(files{"pools/a.yaml": poolFile("a", "0")})
	w.source("hooked", repo.serve(t).url(), rarely, hooked("missing"))
	for _, c := range []struct {
		reason string
		wrong  func()
		says   []string
	}{
		{"no Secret", func() {}, []string{"Secret nodepools-system/missing: does not exist", "spec.webhook.secretRef"}},
		{"a Secret for something else", func() { w.token("missing", "Opaque", hookToken) }, []string{"not of the type", "--type=nodes.lailin.xyz/webhook"}},
		{"a token that can be guessed", func() { w.token("missing", v1.WebhookSecretType, "short") }, []string{"fewer than 16 bytes", "openssl rand"}},
		{"no token", func() { w.token("missing", v1.WebhookSecretType, "") }, []string{"the key token is missing"}},
	} {
		c.wrong()
		w.sourceIs("hooked", "reports "+c.reason, func(src *v1.NodePoolSource) error {
			if src.Status.WebhookPath != "" {
				return fmt.Errorf("there is a path")
			}
			return conditionIs(src.Status.Conditions, v1.WebhookReadyCondition, metav1.ConditionFalse, "CredentialInvalid", c.says...)
		})
		w.follows("hooked", first)
	}
	// What is corrected works without a restart and without a poll.
	w.token("missing", v1.WebhookSecretType, hookToken)
	path := w.path("hooked")
	if status := w.push(path, hookToken); status != http.StatusAccepted {
		t.Errorf("the answer is %d", status)
	}

	// With another token the path leads nowhere, and there is another one.
	w.token("missing", v1.WebhookSecretType, hookToken+"-2")
	w.eventually("the path leads nowhere", func() error {
		if status := w.push(path, hookToken); status != http.StatusNotFound {
			return fmt.Errorf("the answer is %d", status)
		}
		return nil
	})
	// A delivery that was accepted before is a request, too, and may replace this one.
	tries := 0
	w.eventually("there is another path", func() error {
		tries++
		w.changeSource("hooked", func(src *v1.NodePoolSource) {
			metav1.SetMetaDataAnnotation(&src.ObjectMeta, v1.RequestedAtAnnotation, fmt.Sprint("after the rotation ", tries))
		})
		if now := w.mustRead("hooked").Status.WebhookPath; now == path || now == "" {
			return fmt.Errorf("it is %q", now)
		}
		return nil
	})
	if status := w.push(w.path("hooked"), hookToken+"-2"); status != http.StatusAccepted {
		t.Errorf("the answer is %d", status)
	}

	// A source that rests is not woken.
	w.changeSource("hooked", func(src *v1.NodePoolSource) { src.Spec.Suspend = true })
	w.stands("hooked", v1.StalledCondition, metav1.ConditionFalse, v1.SuspendedReason)
	before := maps.Clone(w.mustRead("hooked").Annotations)
	path = w.mustRead("hooked").Status.WebhookPath
	mark := w.mark()
	if status := w.push(path, hookToken+"-2"); status != http.StatusAccepted {
		t.Errorf("the answer is %d", status)
	}
	w.changeSource("hooked", func(src *v1.NodePoolSource) { src.Spec.Suspend, src.Spec.Webhook = false, nil })
	w.sourceIs("hooked", "has no webhook", func(src *v1.NodePoolSource) error {
		for _, c := range src.Status.Conditions {
			if c.Type == v1.WebhookReadyCondition {
				return fmt.Errorf("there is a condition")
			}
		}
		if src.Status.WebhookPath != "" {
			return fmt.Errorf("there is a path")
		}
		return nil
	})
	w.eventually("the path leads nowhere", func() error {
		if status := w.push(path, hookToken+"-2"); status != http.StatusNotFound {
			return fmt.Errorf("the answer is %d", status)
		}
		return nil
	})
	if n := w.asked(mark)["patch nodepoolsources"]; n != 0 || !maps.Equal(before, w.mustRead("hooked").Annotations) {
		t.Errorf("a source that rests was written %d times", n)
	}
	wantNoSecret(t, hookToken, fmt.Sprint(w.mustRead("hooked"), w.eventsOf(w.mustRead("hooked")))+w.said.text()+reachable(w.log.text()))
}
