package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// forge stands for GitHub or GitLab: the part of their API that comments of one
// pull request need, as it is documented. It is no real one, as neither can be had
// on a machine of one's own without an account or some gigabytes; so what it is
// asked is compared to the letter, and it refuses what they refuse.
type forge struct {
	*httptest.Server
	kind  string // github or gitlab
	token string

	mu       sync.Mutex
	comments []forgeComment
	requests []string
	broken   int // the status that writing is answered with; 0 for none
}

type forgeComment struct {
	id           int
	author, body string
}

const (
	forgeToken = "glpat-CaNaRy_0123456789"
	forgeBot   = "review[bot]"
)

func startForge(t *testing.T, kind string, comments ...forgeComment) *forge {
	t.Helper()
	f := &forge{kind: kind, token: forgeToken}
	for i, c := range comments {
		c.id = 100 + i
		f.comments = append(f.comments, c)
	}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// comment paths of pull request 7.
func (f *forge) paths() (all, one string) {
	if f.kind == "gitlab" {
		return "/projects/42/merge_requests/7/notes", "/projects/42/merge_requests/7/notes/"
	}
	return "/repos/acme/pools/issues/7/comments", "/repos/acme/pools/issues/comments/"
}

func (f *forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r.Method+" "+r.URL.Path)
	all, one := f.paths()
	edit, header, value := http.MethodPatch, "Authorization", "Bearer "+f.token
	if f.kind == "gitlab" {
		edit, header, value = http.MethodPut, "PRIVATE-TOKEN", f.token
	}
	if r.Header.Get(header) != value {
		// A server may well repeat what it was sent.
		http.Error(w, "no access with "+r.Header.Get(header), http.StatusUnauthorized)
		return
	}
	id, isOne := strings.CutPrefix(r.URL.Path, one)
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/user" && f.kind == "gitlab":
		f.answer(w, http.StatusOK, map[string]any{"id": 5, "username": forgeBot, "name": "Review", "identities": []any{map[string]any{"username": "other"}}})
	case r.Method == http.MethodGet && r.URL.Path == all:
		f.list(w, r)
	case f.broken != 0:
		http.Error(w, "out of order, with "+r.Header.Get(header), f.broken)
	case r.Method == http.MethodPost && r.URL.Path == all:
		f.write(w, r, nil)
	case r.Method == edit && isOne:
		for i := range f.comments {
			if strconv.Itoa(f.comments[i].id) == id {
				f.write(w, r, &f.comments[i])
				return
			}
		}
		http.NotFound(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (f *forge) list(w http.ResponseWriter, r *http.Request) {
	size, page := 30, 1
	if n, err := strconv.Atoi(r.URL.Query().Get("per_page")); err == nil {
		size = min(n, 100)
	}
	if n, err := strconv.Atoi(r.URL.Query().Get("page")); err == nil {
		page = n
	}
	shown := []any{}
	for i := (page - 1) * size; i < min(page*size, len(f.comments)); i++ {
		shown = append(shown, f.shown(f.comments[i]))
	}
	f.answer(w, http.StatusOK, shown)
}

// shown is a comment in the form of the API, with what stands around the part that
// matters.
func (f *forge) shown(c forgeComment) any {
	if f.kind == "gitlab" {
		return map[string]any{"attachment": nil, "author": map[string]any{"id": 9, "username": c.author, "z": map[string]any{"username": forgeBot}}, "body": c.body, "id": c.id, "noteable_iid": 7, "system": false} //nolint:misspell // GitLab calls it so
	}
	return map[string]any{
		"body": c.body, "id": c.id, "node_id": "IC_9", "performed_via_github_app": map[string]any{"id": 3, "owner": map[string]any{"login": forgeBot}},
		"reactions": map[string]any{"+1": 0}, "user": map[string]any{"id": 9, "login": c.author, "z": map[string]any{"login": forgeBot}},
	}
}

func (f *forge) write(w http.ResponseWriter, r *http.Request, c *forgeComment) {
	var sent map[string]string
	data, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(data, &sent)
	}
	switch {
	case err != nil || len(sent) != 1 || r.Header.Get("Content-Type") != "application/json":
		http.Error(w, fmt.Sprintf("no comment: %v", err), http.StatusBadRequest)
	case sent["body"] == "" || len([]rune(sent["body"])) > 65536:
		http.Error(w, "the body is empty or too long", http.StatusUnprocessableEntity)
	case c != nil:
		c.body = sent["body"]
		f.answer(w, http.StatusOK, f.shown(*c))
	default:
		f.comments = append(f.comments, forgeComment{id: 1000 + len(f.comments), author: forgeBot, body: sent["body"]})
		f.answer(w, http.StatusCreated, f.shown(f.comments[len(f.comments)-1]))
	}
}

// answer writes JSON as each of the two does: GitLab escapes what has a meaning in
// HTML.
func (f *forge) answer(w http.ResponseWriter, status int, document any) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(f.kind == "gitlab")
	if f.kind == "github" {
		encoder.SetIndent("", "  ")
	}
	if err := encoder.Encode(document); err != nil {
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(text.Bytes()) //nolint:errcheck // the client sees what is missing
}

// take returns the requests since it was last asked, and the comments.
func (f *forge) take() (requests []string, comments []forgeComment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	requests, f.requests = f.requests, nil
	return requests, append([]forgeComment{}, f.comments...)
}

func (f *forge) breakWith(status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = status
}
