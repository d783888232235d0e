package controller

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
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
		w.issuers.Azure = issuers.AzureIdentity{Tenant: "tenant-1", Client: "client-1", Assertion: "s3cr3t-canary-projected"}
		w.issuers.AWS = issuers.AWSIdentity{Role: "arn:aws:iam::111122223333:role/nodepools", Assertion: "s3cr3t-canary-projected"}
	})
	w.app = map[string][]byte{
		"githubAppID": []byte("1234"), "githubAppInstallationID": []byte("42"), "ca.crt": w.issuers.CA(),
		"githubAppPrivateKey": pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
	}
	proxy := proxies.HTTP(t, &proxies.Proxy{Servers: w.issuers.Names()}, nil)
	w.secret("proxy", "", map[string][]byte{"address": []byte("http://" + proxy.Address)})
	return w
}

// identity is what a webhook puts into the pod of the controller.
func (w *tokenWorld) identity(token string, variables map[string]string) {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		w.t.Fatal(err)
	}
	for name, value := range variables {
		if value == "" {
			value = file
		}
		w.t.Setenv(name, value)
	}
}

// wantNoToken checks that nothing that was issued is told of a source, or logged.
func (w *tokenWorld) wantNoToken(source string) {
	w.t.Helper()
	src := w.mustRead(source)
	text := fmt.Sprint(src.Status, w.eventsOf(src)) + reachable(w.log.text()) + w.series()
	for _, token := range append(w.issuers.Tokens(), "s3cr3t-canary-projected") {
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
// has not expired, at each provider. Tokens are renewed on the way, replaced where they
// are revoked, and what is wrong has one message. The pools stay meanwhile, and what is
// corrected works at the next poll.
func TestGitTokens(t *testing.T) {
	w := newTokenWorld(t)
	ca := map[string][]byte{"ca.crt": w.issuers.CA()}
	w.node("a1", role("a"))
	wrong := func(change func()) func() {
		return func() { w.issuers.Change(change); w.issuers.Revoke() }
	}
	type trouble struct {
		name          string
		wrong, mend   func()
		reason, field string
		says          string
	}
	tier := 0
	for _, c := range []struct {
		provider v1.Provider
		url      string
		set      func()
		troubles []trouble
	}{
		{v1.GitHubProvider, "https://github.com/acme/repo", func() { w.secret("git", "https://github.com/acme", w.app) }, []trouble{
			{"suspended", wrong(func() { w.issuers.App.Suspended = true }), wrong(func() { w.issuers.App.Suspended = false }), "TokenRefused", "Secret nodepools-system/git: ", "is suspended"},
			{"not granted", wrong(func() { w.issuers.App.Repositories = nil }), wrong(func() { w.issuers.App.Repositories = []string{"repo"} }), "TokenRefused", "Secret nodepools-system/git: ", "may not read the contents of the repository repo"},
			{"another App", func() {
				other := map[string][]byte{}
				for key, value := range w.app {
					other[key] = value
				}
				other["githubAppID"] = []byte("99")
				w.secret("git", "https://github.com/acme", other)
			}, func() { w.secret("git", "https://github.com/acme", w.app) }, "TokenRefused", "Secret nodepools-system/git: ", "no GitHub App with this githubAppID"},
			{"no App", func() { w.secret("git", "https://github.com/acme", ca) }, func() { w.secret("git", "https://github.com/acme", w.app) }, "CredentialInvalid", "Secret nodepools-system/git: ", "the key githubAppID is missing"},
		}},
		{v1.AzureProvider, "https://dev.azure.com/acme/project/_git/repo", func() {
			w.secret("git", "https://dev.azure.com/acme", ca)
			w.identity("s3cr3t-canary-projected", map[string]string{"AZURE_CLIENT_ID": "client-1", "AZURE_TENANT_ID": "tenant-1", "AZURE_FEDERATED_TOKEN_FILE": ""})
		}, []trouble{
			{"not federated", wrong(func() { w.issuers.Azure.Assertion = "other" }), wrong(func() { w.issuers.Azure.Assertion = "s3cr3t-canary-projected" }), "TokenRefused", "spec.provider azure: ", "(AADSTS700213): no federated credential"},
			{"no webhook", func() { t.Setenv("AZURE_CLIENT_ID", "") }, func() { t.Setenv("AZURE_CLIENT_ID", "client-1") }, "CredentialInvalid", "spec.provider azure: ", "no AZURE_CLIENT_ID in its environment"},
			{"a login beside it", func() {
				w.secret("git", "https://dev.azure.com/acme", map[string][]byte{"username": []byte("u"), "password": []byte("p")})
			}, func() { w.secret("git", "https://dev.azure.com/acme", ca) }, "CredentialInvalid", "Secret nodepools-system/git: ", "it has a login, and spec.provider azure is one itself"},
		}},
		{v1.AWSProvider, "https://git-codecommit.eu-central-1.amazonaws.com/v1/repos/repo", func() {
			w.secret("git", "https://git-codecommit.eu-central-1.amazonaws.com/v1/repos", ca)
			w.identity("s3cr3t-canary-projected", map[string]string{"AWS_ROLE_ARN": "arn:aws:iam::111122223333:role/nodepools", "AWS_WEB_IDENTITY_TOKEN_FILE": ""})
		}, []trouble{
			{"not trusted", wrong(func() { w.issuers.AWS.Role = "other" }), wrong(func() { w.issuers.AWS.Role = "arn:aws:iam::111122223333:role/nodepools" }), "TokenRefused", "spec.provider aws: ", "may not assume the role"},
		}},
	} {
		t.Run(string(c.provider), func(*testing.T) {
			c.set()
			name := string(c.provider)
			next := func() string {
				tier++
				return w.repo.commit(files{"pools/" + name + ".yaml": poolFile(name, fmt.Sprint(tier))})
			}
			w.node(name+"-1", role(name))
			first := next()
			w.source(name, c.url, func(src *v1.NodePoolSource) {
				src.Spec.Path, src.Spec.Provider = "pools", c.provider
				src.Spec.SecretRef, src.Spec.ProxySecretRef = &v1.SecretRef{Name: "git"}, &v1.SecretRef{Name: "proxy"}
			})
			w.follows(name, first)
			w.poolsReady(name)
			w.renews(3)
			w.follows(name, next())
			w.issuers.Revoke()
			w.follows(name, next())
			for _, trouble := range c.troubles {
				before := fmt.Sprint(tier)
				trouble.wrong()
				w.stands(name, v1.FetchedCondition, metav1.ConditionFalse, trouble.reason, trouble.field, trouble.says)
				w.carries(name+"-1", tiers(name, before))
				trouble.mend()
				w.follows(name, next())
				w.carries(name+"-1", tiers(name, fmt.Sprint(tier)))
			}
			w.wantNoToken(name)
			w.kubectl("delete", "nodepoolsources.nodes.lailin.xyz", name)
			w.repo.commit(files{"pools/" + name + ".yaml": ""})
		})
	}
}

// A token that was revoked is replaced, however long it would last.
func TestGitRevokedTokenIsReplaced(t *testing.T) {
	w := newTokenWorld(t)
	w.issuers.Change(func() { w.issuers.Life = time.Hour })
	w.secret("git", "https://github.com/acme", w.app)
	first := w.repo.commit(files{"pools/a.yaml": poolFile("a", "0")})
	w.source("revoked", "https://github.com/acme/repo", func(src *v1.NodePoolSource) {
		src.Spec.SecretRef, src.Spec.ProxySecretRef = &v1.SecretRef{Name: "git"}, &v1.SecretRef{Name: "proxy"}
	})
	w.follows("revoked", first)
	w.issuers.Revoke()
	w.follows("revoked", w.repo.commit(files{"pools/a.yaml": poolFile("a", "1")}))
	if asked := w.issuers.Asked(); len(asked) != 2 {
		t.Errorf("asked %v, want one request for each of two tokens", asked)
	}
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
