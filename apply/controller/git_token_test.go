package controller

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/issuers"
	"github.com/nodepools/nodepools/testdata/proxies"
)

// shortly is how long tokens last that are to be renewed in a test: after half of it.
const shortly = 4 * time.Second

// tokenWorld is a world with servers of tokens, and a proxy that knows them by their
// names.
type tokenWorld struct {
	*gitWorld
	issuers *issuers.Server
	repo    *repository
	app     map[string][]byte // the Secret of the GitHub App
}

func newTokenWorld(t *testing.T) *tokenWorld {
	t.Helper()
	w := &tokenWorld{gitWorld: newGitWorld(t), issuers: issuers.New(t), repo: newRepository(t)}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: manifests.DefaultNamespace}}
	w.do(client.IgnoreAlreadyExists(w.Create(t.Context(), namespace))) // another test may have made it
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	backend := w.repo.serve(t).backend
	w.issuers.Change(func() {
		w.issuers.Life, w.issuers.Git = shortly, backend
		w.issuers.App = issuers.App{ID: "1234", Key: &key.PublicKey, Installation: 42, Owner: "acme", Kind: "orgs", Repositories: []string{"repo"}}
	})
	w.app = map[string][]byte{
		"githubAppID": []byte("1234"), "githubAppInstallationID": []byte("42"), "ca.crt": w.issuers.CA(),
		"githubAppPrivateKey": pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
	}
	proxy := proxies.HTTP(t, &proxies.Proxy{Servers: w.issuers.Names()}, nil)
	w.secret("proxy", "", map[string][]byte{"address": []byte("http://" + proxy.Address)})
	return w
}

// wantNoToken checks that nothing that was issued is told of a source, or logged.
func (w *tokenWorld) wantNoToken(source string) {
	w.t.Helper()
	src := w.mustRead(source)
	text := fmt.Sprint(src.Status, w.eventsOf(src)) + reachable(w.log.text()) + w.series()
	for _, token := range w.issuers.Tokens() {
		wantNoSecret(w.t, token, text)
	}
}

// renews waits until tokens were issued some more times.
func (w *tokenWorld) renews(times int) {
	w.t.Helper()
	before := len(w.issuers.Asked())
	w.eventually("tokens are renewed", func() error {
		if asked := len(w.issuers.Asked()) - before; asked < times {
			return fmt.Errorf("%d requests for tokens", asked)
		}
		return nil
	})
}

// TestGitTokens follows a repository that takes nothing but a token which was issued and
// has not expired. Tokens are renewed on the way, replaced where they are revoked, and
// what is wrong is reported. The pools stay meanwhile, and what is corrected works at the
// next poll.
func TestGitTokens(t *testing.T) {
	w := newTokenWorld(t)
	suspended := func(yes bool) {
		w.issuers.Change(func() { w.issuers.App.Suspended = yes })
		w.issuers.Revoke()
	}
	next := func(tier string) string { return w.repo.commit(files{"pools/a.yaml": poolFile("a", tier)}) }
	w.node("a1", role("a"))
	w.secret("git", "https://github.com/acme", w.app)
	first := next("1")
	w.source("tokens", "https://github.com/acme/repo", func(src *v1.NodePoolSource) {
		src.Spec.Provider = v1.GitHubProvider
		src.Spec.SecretRef, src.Spec.ProxySecretRef = &v1.SecretRef{Name: "git"}, &v1.SecretRef{Name: "proxy"}
	})
	w.follows("tokens", first)
	w.renews(3)
	w.follows("tokens", next("2"))
	w.issuers.Revoke()
	w.follows("tokens", next("3"))
	w.carries("a1", tiers("a", "3"))
	suspended(true)
	w.stands("tokens", v1.FetchedCondition, metav1.ConditionFalse, "TokenRefused", "Secret nodepools-system/git: ", "is suspended")
	w.carries("a1", tiers("a", "3"))
	suspended(false)
	w.follows("tokens", next("4"))
	w.carries("a1", tiers("a", "4"))
	w.wantNoToken("tokens")
}

// The API server refuses a source that would have the identity of the controller sent
// elsewhere.
func TestProvidersAreBoundToTheirHosts(t *testing.T) {
	w := newGitWorld(t)
	secret := &v1.SecretRef{Name: "git"}
	for i, c := range []struct {
		reason   string
		provider v1.Provider
		url      string
		secret   *v1.SecretRef
		allowed  bool
	}{
		{"an App has a Secret", v1.GitHubProvider, "https://github.com/acme/pools", secret, true},
		{"and it is where the App is", v1.GitHubProvider, "https://github.com/acme/pools", nil, false},
		{"Azure DevOps", v1.AzureProvider, "https://dev.azure.com/acme/p/_git/pools", nil, true},
		{"as it was called before", v1.AzureProvider, "https://acme.visualstudio.com/p/_git/pools", nil, true},
		{"a host of the author", v1.AzureProvider, "https://git.example.com/acme/pools", nil, false},
		{"a name that begins like it", v1.AzureProvider, "https://dev.azure.com.example.com/acme/pools", nil, false},
		{"a port of its own", v1.AzureProvider, "https://dev.azure.com:8443/acme/pools", nil, false},
		{"in the clear", v1.AzureProvider, "http://dev.azure.com/acme/pools", nil, false},
		{"CodeCommit", v1.AWSProvider, "https://git-codecommit.us-east-1.amazonaws.com/v1/repos/pools", nil, true},
		{"in China", v1.AWSProvider, "https://git-codecommit.cn-north-1.amazonaws.com.cn/v1/repos/pools", nil, true},
		{"not CodeCommit", v1.AWSProvider, "https://s3.us-east-1.amazonaws.com/v1/repos/pools", nil, false},
		{"a name that begins like it, at AWS", v1.AWSProvider, "https://git-codecommit.us-east-1.amazonaws.com.example.com/v1/repos/pools", nil, false},
		{"no such provider", "gcp", "https://git.example.com/acme/pools", nil, false},
		{"what all others are", v1.GenericProvider, "https://git.example.com/acme/pools", nil, true},
	} {
		src := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("bound-", i)}, Spec: v1.NodePoolSourceSpec{
			URL: c.url, Provider: c.provider, SecretRef: c.secret, Suspend: true, Interval: metav1.Duration{Duration: time.Minute},
		}}
		if err := w.Create(t.Context(), src); (err == nil) != c.allowed {
			t.Errorf("%s: %v", c.reason, err)
		}
	}
}
