package git

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/gitserver"
	"github.com/nodepools/nodepools/testdata/sources"
)

// largeFile is the size of one that is no pool file, in bytes.
const largeFile = 8 << 20

// TestGitea reads a private repository of the real Gitea with each kind of credential.
func TestGitea(t *testing.T) {
	g := gitserver.NewGitea(t)
	repo := g.NewRepo("pools")
	story := newStory(t)
	story.first = story.r.Commit(map[string]string{"large.bin": sources.Noise(largeFile)})
	story.r.Git(g.PushArgs(repo)...)
	t.Run("https", func(t *testing.T) { giteaByHTTPS(t, g, repo) })
	t.Run("ssh", func(t *testing.T) { giteaBySSH(t, g, repo) })
	t.Run("revoked while it is followed", func(t *testing.T) { giteaRevokes(t, g, repo, story) })
	t.Run("follow", func(t *testing.T) { giteaFollowed(t, g, repo, story) })
}

func giteaByHTTPS(t *testing.T, g *gitserver.Gitea, repo string) {
	token := g.Token(gitserver.Reader, "reads", "read:repository")
	revoked := g.Token(gitserver.Reader, "revoked", "read:repository")
	g.Call(gitserver.Reader, http.MethodDelete, "/users/"+gitserver.Reader+"/tokens/revoked", nil, nil)
	password := func(user, password string) map[string]string {
		return map[string]string{"username": user, "password": password, "ca.crt": g.CA}
	}
	bearer := func(token string) map[string]string { return map[string]string{"bearerToken": token, "ca.crt": g.CA} }
	none, absent := map[string]string{"ca.crt": g.CA}, "/"+gitserver.Owner+"/absent.git"
	for name, c := range map[string]struct {
		repo string
		data map[string]string
		want error
		text string // is part of the message
	}{
		"token as the password":             {repo, password("git", token), nil, ""},
		"the same with the user":            {repo, password(gitserver.Reader, token), nil, ""},
		"token of the owner":                {repo, password("git", g.Token(gitserver.Owner, "all", "all")), nil, ""},
		"bearer token":                      {repo, bearer(token), nil, ""},
		"password":                          {repo, password(gitserver.Reader, g.Password()), nil, ""},
		"wrong token":                       {repo, password("git", canary), source.ErrUnauthorized, "401"},
		"wrong bearer token":                {repo, bearer(canary), source.ErrUnauthorized, "401"},
		"wrong password":                    {repo, password(gitserver.Reader, canary), source.ErrUnauthorized, "401"},
		"revoked token":                     {repo, password("git", revoked), source.ErrUnauthorized, "401"},
		"revoked bearer token":              {repo, bearer(revoked), source.ErrUnauthorized, "401"},
		"token for something else":          {repo, password("git", g.Token(gitserver.Reader, "other", "read:user")), source.ErrUnauthorized, "403"},
		"token of somebody else":            {repo, password("git", g.Token(gitserver.Stranger, "reads", "read:repository")), source.ErrRepositoryMissing, "404"},
		"no credential":                     {repo, none, source.ErrUnauthorized, "401"},
		"no such repository":                {absent, password("git", token), source.ErrRepositoryMissing, "404"},
		"no such repository, no credential": {absent, none, source.ErrUnauthorized, "401"},
		"no authority":                      {repo, map[string]string{"bearerToken": token}, source.ErrCertificate, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := both(t.Context(), withSecret(t, g.URL+c.repo, c.data))
			wantGitea(t, err, c.want, c.text, token, revoked)
		})
	}
}

// wantGitea checks what a read has come to; no message has a secret in it.
func wantGitea(t *testing.T, err, want error, text string, secrets ...string) {
	t.Helper()
	if want == nil {
		if err != nil {
			t.Error(err)
		}
		return
	}
	sources.WantError(t, err, want)
	if err == nil {
		return
	}
	t.Logf("%v\n%s", err, source.Hint(err))
	if !strings.Contains(err.Error(), text) {
		t.Errorf("%v, which does not say %s", err, text)
	}
	wantNoCanary(t, err)
	for _, secret := range secrets {
		if strings.Contains(fmt.Sprintf("%+v", err)+source.Hint(err), secret) {
			t.Errorf("the message has the credential: %v", err)
		}
	}
}

func giteaBySSH(t *testing.T, g *gitserver.Gitea, repo string) {
	newKey := func() (line, identity string) {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		signer, text := loginKey(t, key, "")
		return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey()))), text
	}
	// add makes a key one of a user, or with the path of a repository one of that.
	add := func(user, path string) (id int, identity string) {
		line, identity := newKey()
		var added struct{ ID int }
		g.Call(user, http.MethodPost, path+"/keys", map[string]any{"title": path + line[len(line)-9:], "key": line, "read_only": true}, &added)
		return added.ID, identity
	}
	_, reader := add(gitserver.Reader, "/user")
	_, deploy := add(gitserver.Owner, "/repos"+strings.TrimSuffix(repo, ".git"))
	_, stranger := add(gitserver.Stranger, "/user")
	id, revoked := add(gitserver.Reader, "/user")
	g.Call(gitserver.Reader, http.MethodDelete, fmt.Sprintf("/user/keys/%d", id), nil, nil)
	_, unknown := newKey()
	other := strings.SplitN(g.KnownHosts, " ", 2)[0] + " " + func() string { line, _ := newKey(); return line }()
	for name, c := range map[string]struct {
		repo, identity, known string
		want                  error
	}{
		"key of a user":          {repo, reader, g.KnownHosts, nil},
		"key of the repository":  {repo, deploy, g.KnownHosts, nil},
		"key that was removed":   {repo, revoked, g.KnownHosts, source.ErrUnauthorized},
		"key that nobody has":    {repo, unknown, g.KnownHosts, source.ErrUnauthorized},
		"key of somebody else":   {repo, stranger, g.KnownHosts, source.ErrUnauthorized},
		"no such repository":     {"/" + gitserver.Owner + "/absent.git", reader, g.KnownHosts, source.ErrRepositoryMissing},
		"host key of another":    {repo, reader, other, source.ErrHostKey},
		"host that is not known": {repo, reader, strings.Replace(g.KnownHosts, "localhost", "git.example.com", 1), source.ErrHostKey},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := both(t.Context(), withSecret(t, "ssh://git@"+g.SSH+c.repo, map[string]string{"identity": c.identity, "known_hosts": c.known}))
			wantGitea(t, err, c.want, "")
		})
	}
	polledBySSH(t, withSecret(t, "ssh://git@"+g.SSH+repo, map[string]string{"identity": deploy, "known_hosts": g.KnownHosts}))
}

// polledBySSH checks what a poll without anything new costs, and the version it is of.
func polledBySSH(t *testing.T, r *Repository) {
	t.Helper()
	r.Ref, r.Path, r.Cache, r.Received = Ref{Branch: "main"}, "pools", newCache(t), &atomic.Int64{}
	known, snapshot, err := r.Latest(t.Context(), "")
	if err != nil || snapshot == nil {
		t.Fatal(snapshot, err)
	}
	whole := r.Received.Load()
	if again, snapshot, err := r.Latest(t.Context(), known); again != known || snapshot != nil || err != nil {
		t.Errorf("unchanged: %s, %v, %v", again, snapshot, err)
	}
	polled := r.Received.Load() - whole
	if t.Logf("by ssh: the whole %d bytes, a poll %d", whole, polled); polled > 2048 || whole > largeFile {
		t.Errorf("the whole is %d bytes, a poll %d", whole, polled)
	}
	target, err := r.check()
	if err != nil {
		t.Fatal(err)
	}
	c, err := target.converse(t.Context(), ofHistory)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if c.greeting.version != 2 {
		t.Errorf("Gitea speaks version %d, want 2", c.greeting.version)
	}
}

// giteaRevokes has a token revoked between two polls, and another one issued.
func giteaRevokes(t *testing.T, g *gitserver.Gitea, repo string, story *story) {
	with := func(token string) *Repository {
		r := withSecret(t, g.URL+repo, map[string]string{"username": "git", "password": token, "ca.crt": g.CA})
		r.Ref, r.Path = Ref{Branch: "main"}, "pools"
		return r
	}
	followed := with(g.Token(gitserver.Reader, "first", "read:repository"))
	followed.Cache = newCache(t)
	known, _, err := followed.Latest(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	g.Call(gitserver.Reader, http.MethodDelete, "/users/"+gitserver.Reader+"/tokens/first", nil, nil)
	if revision, snapshot, err := followed.Latest(t.Context(), known); snapshot != nil {
		t.Errorf("a revoked token: %s", revision)
	} else {
		wantGitea(t, err, source.ErrUnauthorized, "401")
	}
	renewed := with(g.Token(gitserver.Reader, "second", "read:repository"))
	revision, snapshot, err := renewed.Latest(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, story.r, renewed.Ref, renewed.Path, revision, snapshot)
}

// giteaFollowed follows a branch through all that may happen to it but its end, which
// Gitea refuses for the branch that is the default. What is counted is what a reverse
// proxy sees, which is what many have before Gitea.
func giteaFollowed(t *testing.T, g *gitserver.Gitea, repo string, story *story) {
	s := beforeGitea(t, g)
	f := &follower{server: s, repository: withSecret(t, s.URL+repo, map[string]string{
		"username": "git", "password": g.Token(gitserver.Reader, "follows", "read:repository"), "ca.crt": string(s.ca()),
	})}
	f.repository.Ref, f.repository.Path, f.repository.Cache = Ref{Branch: "main"}, "pools", newCache(t)
	known, snapshot, requests, whole, err := s.latest(t, f.repository, "")
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, story.r, f.repository.Ref, f.repository.Path, known, snapshot)
	if f.known = known; requests != 3 || whole > largeFile {
		t.Errorf("the first fetch is %d requests, want 3, and %d bytes, want none of the large file: %v", requests, whole, s.requests())
	}
	t.Logf("the whole: %d requests, %d bytes", requests, whole)
	for i, step := range steps {
		if step.do(story); !step.branch {
			continue
		}
		story.r.Git(g.PushArgs(repo)...)
		_, want, err := (&Repository{URL: story.r.URL(), Ref: Ref{Branch: "main"}, Path: "pools"}).Latest(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		sent := f.reads(t, want)
		if t.Logf("%s: %d bytes", step.name, sent); i == 0 && sent > whole/4 {
			t.Errorf("%d bytes, and the whole was %d", sent, whole)
		}
	}
	_, _, requests, sent, err := s.latest(t, f.repository, f.known)
	t.Logf("nothing new: %d request, %d bytes, %v", requests, sent, err)
}

// beforeGitea is a reverse proxy that counts.
func beforeGitea(t *testing.T, g *gitserver.Gitea) *forgeServer {
	t.Helper()
	server, err := url.Parse(g.URL)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(g.CA))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(server) }, Transport: transport, ErrorLog: quiet}
	s := &forgeServer{}
	s.webServer = serve(t, true, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		answer := httptest.NewRecorder()
		proxy.ServeHTTP(answer, req)
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		w.WriteHeader(answer.Code)
		s.sent += answer.Body.Len()
		_, _ = w.Write(answer.Body.Bytes())
	}))
	return s
}
