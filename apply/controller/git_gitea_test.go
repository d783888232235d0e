package controller

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/gitserver"
)

// A push to a private repository of the real Gitea is followed at once, by the webhook
// that it has there. Of what Gitea sends, JSON is signed as it is, and a form is not.
func TestGiteaPushIsFollowed(t *testing.T) {
	g := gitserver.NewGitea(t)
	w := newPushWorld(t)
	w.token("hook", v1.WebhookSecretType, hookToken)
	path := g.NewRepo("pools")
	repo := newRepository(t)
	first := repo.commit(files{"pools/a.yaml": poolFile("a", "0")})
	repo.git(g.PushArgs(path)...)
	w.secret("git", g.URL, map[string][]byte{
		"username": []byte("git"), "password": []byte(g.Token(gitserver.Reader, "reads", "read:repository")), "ca.crt": []byte(g.CA),
	})
	w.node("a1", role("a"))
	w.source("gitea", g.URL+path, rarely, hooked("hook"), func(src *v1.NodePoolSource) { src.Spec.SecretRef = &v1.SecretRef{Name: "git"} })
	w.follows("gitea", first)
	w.poolsReady("a")

	deliveries := make(chan *http.Response, 10)
	receiver := w.beforeReceiver(deliveries)
	hook := w.path("gitea")
	next := func(tier string) string {
		t.Helper()
		revision := repo.commit(files{"pools/a.yaml": poolFile("a", tier)})
		repo.git(g.PushArgs(path)...)
		return revision
	}
	answered := func(want int) {
		t.Helper()
		select {
		case answer := <-deliveries:
			if answer.StatusCode != want {
				t.Errorf("Gitea is answered %d, want %d: %v", answer.StatusCode, want, answer.Request.Header)
			}
			for _, header := range []string{"X-Gitea-Signature", "X-Gogs-Signature", "X-Hub-Signature-256"} {
				if answer.Request.Header.Get(header) == "" {
					t.Errorf("Gitea sends no %s", header)
				}
			}
		case <-time.After(time.Minute):
			t.Fatal("Gitea delivers no push")
		}
	}
	for i, c := range []struct {
		reason, contentType, token string
		status                     int
	}{
		{"another token", "json", "another-token-of-bytes", http.StatusUnauthorized},
		{"a form, of which the payload alone is signed", "form", hookToken, http.StatusUnauthorized},
		{"JSON, which is signed as it is", "json", hookToken, http.StatusAccepted},
	} {
		var added struct{ ID int }
		hooks := "/repos" + path[:len(path)-len(".git")] + "/hooks"
		g.Call(gitserver.Owner, http.MethodPost, hooks, map[string]any{
			"type": "gitea", "active": true, "events": []string{"push"},
			"config": map[string]string{"url": receiver + hook, "content_type": c.contentType, "secret": c.token},
		}, &added)
		before, start := w.mustRead("gitea").Annotations[v1.RequestedAtAnnotation], time.Now()
		pushed := next(fmt.Sprint(i + 1))
		answered(c.status)
		if c.status == http.StatusAccepted {
			w.follows("gitea", pushed)
			w.carries("a1", tiers("a", fmt.Sprint(i+1)))
			t.Logf("from the push to the node: %v", time.Since(start))
		} else if after := w.mustRead("gitea").Annotations[v1.RequestedAtAnnotation]; after != before {
			t.Errorf("%s: a poll was asked for", c.reason)
		}
		g.Call(gitserver.Owner, http.MethodDelete, fmt.Sprint(hooks, "/", added.ID), nil, nil)
	}
}

// beforeReceiver is a reverse proxy that shows what the receiver has answered.
func (w *pushWorld) beforeReceiver(deliveries chan<- *http.Response) string {
	w.t.Helper()
	receiver, err := url.Parse(w.url)
	w.do(err)
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(receiver) },
		Transport: w.client.Transport,
		ModifyResponse: func(answer *http.Response) error {
			deliveries <- answer
			return nil
		},
	})
	w.t.Cleanup(server.Close)
	return server.URL
}
