package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/api/manifests"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// measured is an installation whose metrics are read.
type measured struct {
	*story
	address string
	// tls is what its certificate is checked by.
	tls *tls.Config
	// reader may read, stranger may not: the tokens of two ServiceAccounts.
	reader, stranger string
}

// newMeasured installs the controller, and runs it as install has it run: with its
// metrics by TLS, and as its ServiceAccount.
func newMeasured(t *testing.T, args ...string) *measured {
	t.Helper()
	c := cluster.New(t, cluster.Options{Audit: true})
	install(t, c)
	m := &measured{story: newStory(t, c)}
	var err error
	m.address, err = freeAddress()
	m.do(err)
	_, kubeconfig, err := c.ServiceAccount(t.Context(), manifests.DefaultNamespace, manifests.Name)
	m.do(err)
	for name, token := range map[string]*string{"reader": &m.reader, "stranger": &m.stranger} {
		config, _, err := c.ServiceAccount(t.Context(), "default", name)
		m.do(err)
		*token = config.BearerToken
	}
	m.kubectl("create", "clusterrolebinding", "reader", "--clusterrole="+manifests.MetricsReaderName, "--serviceaccount=default:reader")
	startRun(t, kubeconfig, append([]string{"--leader-elect", "--leader-election-namespace", manifests.DefaultNamespace,
		"--metrics-bind-address", m.address, "--metrics-secure"}, args...)...) // the last one counts
	return m
}

// certificate returns the files of a certificate for this machine, and what checks it.
func certificate(t *testing.T) (certFile, keyFile string, by *tls.Config) {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return write("tls.crt", "CERTIFICATE", server.Certificate().Raw), write("tls.key", "PRIVATE KEY", key), &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// read returns the answer to who asks for the metrics with a token.
func (m *measured) read(token string) (status int, text string, err error) {
	return m.get("https://"+m.address+"/metrics", token)
}

func (m *measured) get(url, token string) (status int, text string, err error) {
	transport := &http.Transport{TLSClientConfig: m.tls}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(m.t.Context(), http.MethodGet, url, nil)
	m.do(err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}

// TestMetricsOverTLS reads the metrics of a controller that runs with the rights that
// install gives it, and no others: these are enough to know who asks, and none of them is
// superfluous.
func TestMetricsOverTLS(t *testing.T) {
	certFile, keyFile, by := certificate(t)
	profiles, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	m := newMeasured(t, "--metrics-cert-file", certFile, "--metrics-key-file", keyFile, "--pprof-bind-address", profiles)
	m.tls = by
	m.until("the reader reads", func() error {
		status, text, err := m.read(m.reader)
		if err == nil && (status != http.StatusOK || !strings.Contains(text, "\nnodepools_leader 1\n")) {
			err = fmt.Errorf("the status is %d: %.200s", status, text)
		}
		return err
	})
	for token, want := range map[string]int{"": http.StatusUnauthorized, "nonsense": http.StatusUnauthorized, m.stranger: http.StatusForbidden} {
		if status, text, err := m.read(token); err != nil || status != want || strings.Contains(text, "nodepools_") {
			t.Errorf("somebody without the right gets %d, want %d (%v): %.200s", status, want, err, text)
		}
	}
	// What a stranger sends is bounded before anything is made of it.
	if status, _, err := m.read(strings.Repeat("x", 64<<10)); err != nil || status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of 64 KiB is answered with %d, %v", status, err)
	}
	// Profiles are at an address of their own.
	if status, _, err := m.get("https://"+m.address+"/debug/pprof/", m.reader); err != nil || status == http.StatusOK {
		t.Errorf("profiles beside the metrics: %d, %v", status, err)
	}
	m.until("profiles are served where it was asked for", func() error {
		status, text, err := m.get("http://"+profiles+"/debug/pprof/", "")
		if err == nil && (status != http.StatusOK || !strings.Contains(text, "goroutine")) {
			err = fmt.Errorf("the status is %d", status)
		}
		return err
	})
	plain, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+m.address+"/metrics", nil)
	m.do(err)
	if answer, err := http.DefaultClient.Do(plain); err == nil {
		if answer.Body.Close(); answer.StatusCode == http.StatusOK {
			t.Error("the metrics are served without TLS")
		}
	}
	requests, err := m.c.Audit(0)
	m.do(err)
	used := map[string]bool{}
	for _, request := range requests {
		if !strings.HasSuffix(request.User, ":"+manifests.Name) {
			continue
		}
		if request.Code == http.StatusForbidden {
			t.Errorf("refused, so a rule is missing: %s", request)
		}
		used[right(request.Verb, request.Object.Group, request.Object.Resource, request.Object.Subresource)] = true
	}
	for shipped := range rights(manifests.MetricsRules()) {
		if !used[shipped] {
			t.Errorf("never used, so it is superfluous: %s", shipped)
		}
	}

	// Installed without metrics for all, the controller has no such right.
	m.kubectl("delete", "clusterrole,clusterrolebinding", manifests.MetricsName)
	install(t, m.c, "--metrics", "plain")
	_, kubeconfig, err := m.c.ServiceAccount(t.Context(), manifests.DefaultNamespace, manifests.Name)
	m.do(err)
	m.until("the right to review is gone", func() error {
		for shipped := range rights(manifests.MetricsRules()) {
			verb, resource, _ := strings.Cut(shipped, " ")
			if may, _ := m.c.Kubectl(t.Context(), "--kubeconfig", kubeconfig, "auth", "can-i", verb, resource); strings.TrimSpace(may) != "no" {
				return fmt.Errorf("may %s: %s", shipped, may)
			}
		}
		return nil
	})
}

func (m *measured) kubectl(args ...string) {
	m.t.Helper()
	if out, err := m.c.Kubectl(m.t.Context(), args...); err != nil {
		m.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
