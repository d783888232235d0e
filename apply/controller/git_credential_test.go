package controller

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
)

// privateServer is git http-backend behind TLS and a token that can change.
type privateServer struct {
	*httptest.Server
	token  atomic.Value
	served atomic.Int64
	// refused are the requests with another token.
	refused atomic.Int64
}

func (r *repository) servePrivately(t *testing.T, token string) *privateServer {
	t.Helper()
	backend := r.serve(t).backend
	s := &privateServer{}
	s.token.Store(token)
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "Bearer "+s.token.Load().(string) {
			s.refused.Add(1)
			http.Error(w, "no: "+req.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		s.served.Add(1)
		backend.ServeHTTP(w, req)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *privateServer) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// secret makes or replaces a Secret where sources look for theirs.
func (w *gitWorld) secret(name, prefix string, data map[string][]byte) {
	w.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: manifests.DefaultNamespace, Name: name}, Data: data}
	if prefix != "" {
		secret.Annotations = map[string]string{v1.URLPrefixAnnotation: prefix}
	}
	_ = w.Delete(w.t.Context(), secret.DeepCopy()) // there may be none
	w.do(w.Create(w.t.Context(), secret))
}

// TestGitPrivateRepository follows a private repository through all that can be wrong
// with its credential. Each has one message that says what to do, the pools stay, and
// what is corrected works without a restart.
func TestGitPrivateRepository(t *testing.T) {
	const token = "s3cr3t-canary-token"
	w := newGitWorld(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: manifests.DefaultNamespace}}
	w.do(client.IgnoreAlreadyExists(w.Create(t.Context(), namespace))) // another test may have made it
	repo := newRepository(t)
	server := repo.servePrivately(t, token)
	first := repo.commit(files{"pools/a.yaml": poolFile("a", "0")})
	good := map[string][]byte{"bearerToken": []byte(token), "ca.crt": server.ca()}
	url := server.URL + "/repo"
	w.secret("git", url, good)
	w.node("a1", role("a"))
	w.source("private", url, func(src *v1.NodePoolSource) { src.Spec.SecretRef = &v1.SecretRef{Name: "git"} })
	w.follows("private", first)
	w.poolsReady("a")

	for i, c := range []struct {
		name   string // of what is wrong
		wrong  func()
		reason string
		says   []string
	}{
		{"the token is replaced at the server", func() { server.token.Store(token + "-2") }, "Unauthorized", []string{"HTTP status 401", "check bearerToken of Secret nodepools-system/git"}},
		{"the Secret is gone", func() {
			w.do(w.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: manifests.DefaultNamespace, Name: "git"}}))
		}, "CredentialInvalid", []string{"Secret nodepools-system/git: does not exist", "spec.secretRef"}},
		{"a key is missing", func() {
			w.secret("git", url, map[string][]byte{"username": []byte("u"), "ca.crt": server.ca()})
		}, "CredentialInvalid", []string{"Secret nodepools-system/git: the key password is missing"}},
		{"no prefix", func() { w.secret("git", "", good) }, "CredentialInvalid", []string{"does not say which URLs", "url-prefix="}},
		{"the Secret is of another URL", func() { w.secret("git", "https://git.example.com", good) }, "CredentialInvalid", []string{"another prefix", "url-prefix="}},
		{"the authority is missing", func() { w.secret("git", url, map[string][]byte{"bearerToken": []byte(token)}) }, "CertificateUntrusted", []string{"unknown authority", "as ca.crt of Secret nodepools-system/git"}},
		{"it is one for ssh alone", func() { w.secret("git", url, map[string][]byte{"identity": []byte("x"), "known_hosts": []byte("y")}) }, "CredentialInvalid", []string{"identity is no private key"}},
	} {
		c.wrong()
		w.stands("private", v1.FetchedCondition, metav1.ConditionFalse, c.reason, c.says...)
		w.carries("a1", tiers("a", fmt.Sprint(i)))
		// What is corrected works at the next poll.
		server.token.Store(fmt.Sprint(token, "-", i))
		w.secret("git", url, map[string][]byte{"bearerToken": []byte(fmt.Sprint(token, "-", i)), "ca.crt": server.ca()})
		next := repo.commit(files{"pools/a.yaml": poolFile("a", fmt.Sprint(i+1))})
		w.follows("private", next)
		w.carries("a1", tiers("a", fmt.Sprint(i+1)))
	}
	src := w.mustRead("private")
	wantNoSecret(t, token, fmt.Sprint(src.Status, w.eventsOf(src)))
	wantNoSecret(t, token, reachable(w.log.text())+w.series())
}
