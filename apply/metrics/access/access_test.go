package access

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"

	"github.com/nodepools/nodepools/testdata/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m, cluster.Options{}) }

// reader may get /metrics; writer may do nothing.
const accounts = `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: reader, namespace: default}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: writer, namespace: default}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {nonResourceURLs: [/metrics], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects:
- {kind: ServiceAccount, name: reader, namespace: default}
`

// scene is a guard before metrics, at a time that the test sets.
type scene struct {
	*Guard
	t   *testing.T
	c   *cluster.Cluster
	at  time.Time
	log []string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, c: cluster.New(t, cluster.Options{Audit: true}), at: time.Now()}
	if out, err := s.c.Apply(t.Context(), accounts); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.Guard = s.guard(s.c.Config)
	return s
}

func (s *scene) guard(config *rest.Config) *Guard {
	s.t.Helper()
	g, err := New(config, funcr.New(func(_, line string) { s.log = append(s.log, line) }, funcr.Options{}))
	if err != nil {
		s.t.Fatal(err)
	}
	g.now = func() time.Time { return s.at }
	return g
}

func (s *scene) token(account string) string {
	s.t.Helper()
	token, err := s.c.Kubectl(s.t.Context(), "create", "token", account, "--namespace", "default")
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(token)
}

// ask returns the answer to a request with a header Authorization.
func (s *scene) ask(method, path, authorization string) *httptest.ResponseRecorder {
	s.t.Helper()
	request := httptest.NewRequestWithContext(s.t.Context(), method, path, nil)
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	answer := httptest.NewRecorder()
	s.Before(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "metrics") })).ServeHTTP(answer, request)
	if reads := answer.Body.String() == "metrics"; reads != (answer.Code == http.StatusOK) {
		s.t.Errorf("the status is %d, and the body %q", answer.Code, answer.Body)
	}
	return answer
}

// reviews is how many there were.
func (s *scene) reviews() (count int) {
	s.t.Helper()
	requests, err := s.c.Audit(0)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, request := range requests {
		if request.Verb == "create" && (request.Object.Resource == "tokenreviews" || request.Object.Resource == "subjectaccessreviews") {
			count++
		}
	}
	return count
}

func TestGuard(t *testing.T) {
	s := newScene(t)
	reader, writer := s.token("reader"), s.token("writer")
	// Until the API server knows the role, nobody has the right.
	cluster.Eventually(t, "the reader may read", time.Minute, func() error {
		s.at = s.at.Add(time.Hour)
		if answer := s.ask(http.MethodGet, "/metrics", "Bearer "+reader); answer.Code != http.StatusOK {
			return fmt.Errorf("the status is %d", answer.Code)
		}
		return nil
	})
	for _, c := range []struct {
		reason                      string
		method, path, authorization string
		want                        int
	}{
		{"nobody says who asks", http.MethodGet, "/metrics", "", http.StatusUnauthorized},
		{"a password is no token", http.MethodGet, "/metrics", "Basic cmVhZGVyOnB3", http.StatusUnauthorized},
		{"a token of nobody", http.MethodGet, "/metrics", "Bearer nonsense", http.StatusUnauthorized},
		{"a token that is none", http.MethodGet, "/metrics", "Bearer ", http.StatusUnauthorized},
		{"a token that is too long", http.MethodGet, "/metrics", "Bearer " + strings.Repeat("x", maxToken+1), http.StatusUnauthorized},
		{"somebody without the right", http.MethodGet, "/metrics", "Bearer " + writer, http.StatusForbidden},
		{"the scheme is in whatever case", http.MethodGet, "/metrics", "bearer " + reader, http.StatusOK},
		{"another path is another right", http.MethodGet, "/debug/pprof", "Bearer " + reader, http.StatusForbidden},
		{"a path that is too long to be kept", http.MethodGet, "/" + strings.Repeat("x", maxTarget), "Bearer " + reader, http.StatusRequestURITooLong},
		{"a method that is", strings.Repeat("X", maxTarget), "/metrics", "Bearer " + reader, http.StatusRequestURITooLong},
		{"another verb is another right", http.MethodPost, "/metrics", "Bearer " + reader, http.StatusForbidden},
	} {
		if answer := s.ask(c.method, c.path, c.authorization); answer.Code != c.want {
			t.Errorf("%s: the status is %d, want %d", c.reason, answer.Code, c.want)
		} else if strings.Contains(answer.Body.String()+fmt.Sprint(answer.Header()), "nonsense") {
			t.Errorf("%s: the answer repeats what was sent: %q", c.reason, answer.Body)
		}
	}

	before := s.reviews()
	for range 5 {
		s.ask(http.MethodGet, "/metrics", "Bearer "+reader)
		s.ask(http.MethodGet, "/metrics", "Bearer "+writer)
		s.ask(http.MethodGet, "/metrics", "Bearer nonsense")
	}
	if after := s.reviews(); after != before {
		t.Errorf("what is known was reviewed again, %d times", after-before)
	}
	s.at = s.at.Add(fresh)
	if answer := s.ask(http.MethodGet, "/metrics", "Bearer "+reader); answer.Code != http.StatusOK || s.reviews() != before+2 {
		t.Errorf("after %v the status is %d after %d reviews, want 2", fresh, answer.Code, s.reviews()-before)
	}

	s.c.Kubectl(t.Context(), "delete", "clusterrolebinding", "reader") //nolint:errcheck // what follows shows it
	cluster.Eventually(t, "the right is gone", time.Minute, func() error {
		s.at = s.at.Add(fresh)
		if answer := s.ask(http.MethodGet, "/metrics", "Bearer "+reader); answer.Code != http.StatusForbidden {
			return fmt.Errorf("the status is %d", answer.Code)
		}
		return nil
	})
	if len(s.log) > 0 {
		t.Errorf("strangers wrote into the log:\n%s", strings.Join(s.log, "\n"))
	}
}

// While the API server is away, who was let in is let in for a while, and nobody else.
func TestGuardWithoutAPIServer(t *testing.T) {
	s := &scene{t: t, at: time.Now()}
	s.Guard = s.guard(&rest.Config{Host: "https://127.0.0.1:1"})
	let := request{path: "/metrics", verb: "get"}
	let.token = digest("known")
	s.remember(let, http.StatusOK)
	for _, c := range []struct {
		reason string
		after  time.Duration
		token  string
		want   int
	}{
		{"it was let in just now", 0, "known", http.StatusOK},
		{"it cannot be renewed", 2 * time.Minute, "known", http.StatusOK},
		{"nobody knows that one", 0, "unknown", http.StatusServiceUnavailable},
		{"it was long ago", 3 * time.Minute, "known", http.StatusServiceUnavailable},
	} {
		s.at = s.at.Add(c.after)
		if answer := s.ask(http.MethodGet, "/metrics", "Bearer "+c.token); answer.Code != c.want {
			t.Errorf("%s: the status is %d, want %d", c.reason, answer.Code, c.want)
		}
	}
	before := len(s.log)
	for range 5 {
		s.ask(http.MethodGet, "/metrics", "Bearer unknown")
	}
	if len(s.log) != before {
		t.Errorf("strangers wrote %d lines into the log in no time", len(s.log)-before)
	}
	if log := strings.Join(s.log, "\n"); !strings.Contains(log, "TokenReview") || strings.Contains(log, "unknown") {
		t.Errorf("the log says why, and not the token: %s", log)
	}
}

// What strangers send takes a bounded amount of memory, and does not drive out who was
// let in.
func TestGuardRemembersABoundedNumber(t *testing.T) {
	g, err := New(&rest.Config{Host: "https://127.0.0.1:1"}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	let := request{token: digest("known")}
	g.remember(let, http.StatusOK)
	for i := range 2*maxKnown + 10 {
		g.remember(request{token: digest(fmt.Sprint(i))}, http.StatusUnauthorized)
	}
	if len(g.known) > maxKnown {
		t.Errorf("%d are remembered, want at most %d", len(g.known), maxKnown)
	}
	if _, valid := g.recall(let); !valid {
		t.Error("strangers drove out who was let in")
	}
	for i := range maxKnown + 10 {
		g.remember(request{token: digest(fmt.Sprint(i))}, http.StatusOK)
	}
	if len(g.known) > maxKnown {
		t.Errorf("%d are remembered, want at most %d", len(g.known), maxKnown)
	}
}
