package main

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/issuers"
	"github.com/nodepools/nodepools/testdata/secrets"
	"github.com/nodepools/nodepools/testdata/sources"
)

// TestDiffAsAGitHubApp reads the repository of a source with the keys of a GitHub App in
// a folder, as its Secret has them. The identity of the controller is not to be had here.
func TestDiffAsAGitHubApp(t *testing.T) {
	c := cluster.Shared(t)
	kubeconfig := c.Kubeconfig()
	if err := reset(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	repo, server := sources.NewRepo(t), issuers.New(t)
	repo.Commit(map[string]string{"pools/gpu.yaml": "apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata:\n  name: gpu\nspec:\n  labels:\n    example.com/gpu: \"yes\"\n"})
	server.Change(func() {
		server.App = issuers.App{ID: "1234", Key: &key.PublicKey, Installation: 42, Owner: "acme", Kind: "orgs", Repositories: []string{"repo"}}
		server.Git = &cgi.Handler{
			Path: git, Args: []string{"http-backend"}, Stderr: io.Discard, Logger: log.New(io.Discard, "", 0),
			Env: append(sources.Env(), "GIT_PROJECT_ROOT="+filepath.Dir(repo.Dir), "GIT_HTTP_EXPORT_ALL=1"),
		}
	})
	api, err := observe.NewClient(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	create := func(name, url string, provider v1.Provider) {
		src := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodePoolSourceSpec{URL: url, Path: "pools", Provider: provider, Interval: metav1.Duration{Duration: 60e9}}}
		if provider == v1.GitHubProvider {
			src.Spec.SecretRef = &v1.SecretRef{Name: "git"}
		}
		if err := api.Create(t.Context(), src); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = reset(t.Context(), c) })
	}
	create("app", server.URL+"/acme/repo", v1.GitHubProvider)
	create("cloud", "https://dev.azure.com/acme/p/_git/pools", v1.AzureProvider)

	private := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	folder := func(changed map[string]string) string {
		dir := t.TempDir()
		files := map[string]string{"url-prefix": server.URL + "/acme", "ca.crt": string(server.CA()), "githubAppID": "1234", "githubAppInstallationID": "42", "githubAppPrivateKey": private, "githubAppBaseURL": server.URL}
		for name, text := range changed {
			files[name] = text
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"with the keys":           {[]string{"--source", "app", "--credential-file", folder(nil)}, exitFailed, "NodePool gpu"},
		"of another installation": {[]string{"--source", "app", "--credential-file", folder(map[string]string{"githubAppInstallationID": "43"})}, exitUsage, "the GitHub App has no such installation\ncorrect githubAppInstallationID"},
		"a key that is none":      {[]string{"--source", "app", "--credential-file", folder(map[string]string{"githubAppPrivateKey": "x"})}, exitUsage, "githubAppPrivateKey is no private key in PEM form"},
		"of the controller":       {[]string{"--source", "cloud"}, exitUsage, "is read with the identity of the controller, which this machine does not have\nlog in with --credential-helper, or name a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := execute(t.Context(), append([]string{"nodepools", "diff", "--kubeconfig", kubeconfig}, c.args...), streams{in: strings.NewReader(""), out: &out, err: &errs})
			if said := out.String() + errs.String(); code != c.code || !strings.Contains(said, c.says) {
				t.Errorf("exit code %d, want %d:\n%s", code, c.code, said)
			}
			for _, token := range server.Tokens() {
				if found := secrets.Find(out.String()+errs.String(), token); found != "" {
					t.Errorf("the token got out, %s", found)
				}
			}
		})
	}
}
