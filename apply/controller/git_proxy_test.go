package controller

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/proxies"
)

// TestGitRepositoryBehindAProxy follows a private repository whose host only a proxy
// knows, through what can be wrong with the proxy and its Secret. The pools stay, and
// what is corrected works at the next poll.
func TestGitRepositoryBehindAProxy(t *testing.T) {
	const token, password = "s3cr3t-canary-token", "s3cr3t-canary-proxy"
	w := newGitWorld(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: manifests.DefaultNamespace}}
	w.do(client.IgnoreAlreadyExists(w.Create(t.Context(), namespace))) // another test may have made it
	repo := newRepository(t)
	server := repo.servePrivately(t, token)
	servers := map[string]string{"example.com:443": server.Listener.Addr().String()}
	proxy := proxies.HTTP(t, &proxies.Proxy{Servers: servers, Username: "user", Password: password}, nil)
	secret := func(data map[string]string) {
		bytes := map[string][]byte{}
		for key, value := range data {
			bytes[key] = []byte(value)
		}
		w.secret("proxy", "", bytes)
	}
	good := map[string]string{"address": "http://" + proxy.Address, "username": "user", "password": password}
	const url = "https://example.com/repo"
	w.secret("git", url, map[string][]byte{"bearerToken": []byte(token), "ca.crt": server.ca()})
	secret(good)
	first := repo.commit(files{"pools/a.yaml": poolFile("a", "0")})
	w.node("a1", role("a"))
	w.source("behind", url, func(src *v1.NodePoolSource) {
		src.Spec.SecretRef, src.Spec.ProxySecretRef = &v1.SecretRef{Name: "git"}, &v1.SecretRef{Name: "proxy"}
	})
	w.follows("behind", first)
	w.poolsReady("a")

	for i, c := range []struct {
		name   string // of what is wrong
		wrong  func()
		reason string
		says   []string
	}{
		{"the Secret is gone", func() {
			w.do(w.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: manifests.DefaultNamespace, Name: "proxy"}}))
		}, "CredentialInvalid", []string{"Secret nodepools-system/proxy: does not exist", "spec.proxySecretRef"}},
		{"another password", func() {
			secret(map[string]string{"address": "http://" + proxy.Address, "username": "user", "password": "other"})
		}, "Unreachable", []string{"the proxy wants a credential, or another one", "spec.proxySecretRef"}},
	} {
		c.wrong()
		w.stands("behind", v1.FetchedCondition, metav1.ConditionFalse, c.reason, c.says...)
		w.carries("a1", tiers("a", fmt.Sprint(i)))
		secret(good)
		w.follows("behind", repo.commit(files{"pools/a.yaml": poolFile("a", fmt.Sprint(i+1))}))
		w.carries("a1", tiers("a", fmt.Sprint(i+1)))
	}
	if len(proxy.Asked()) == 0 {
		t.Error("the proxy of HTTP was not asked")
	}
	src := w.mustRead("behind")
	for _, canary := range []string{token, password} {
		wantNoSecret(t, canary, fmt.Sprint(src.Status, w.eventsOf(src)))
		wantNoSecret(t, canary, reachable(w.log.text())+w.series())
	}
}
