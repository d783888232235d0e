package main

import (
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

const webhookToken = "a-token-of-a-webhook"

// Of two replicas either receives a push, whether it holds the lease or not. The one
// that does not hold it writes that request and nothing else. Neither needs a right that is
// not shipped: the option has none of its own.
func TestEveryReplicaReceivesWebhooks(t *testing.T) {
	c := cluster.New(t, cluster.Options{Audit: true})
	install(t, c, "--webhook", "--metrics", "none")
	account, kubeconfig, err := c.ServiceAccount(t.Context(), manifests.DefaultNamespace, manifests.Name)
	if err != nil {
		t.Fatal(err)
	}
	s := newStory(t, c)
	s.node("n1", "a")
	s.commit(map[string]string{"a.yaml": hookedPool("first")})
	s.do(s.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: manifests.DefaultNamespace, Name: "hook"},
		Type:       v1.WebhookSecretType, Data: map[string][]byte{"token": []byte(webhookToken)},
	}))
	s.do(s.Create(t.Context(), &v1.NodePoolSource{
		ObjectMeta: metav1.ObjectMeta{Name: "pools"},
		Spec: v1.NodePoolSourceSpec{
			URL: "file://" + s.repository, Interval: metav1.Duration{Duration: 10 * time.Minute},
			Webhook: &v1.Webhook{SecretRef: v1.SecretRef{Name: "hook"}},
		},
	}))
	leader := startReceiving(t, kubeconfig)
	s.labelled("n1", "turn", "first")
	// Both are the same user: what the second one asks for is seen on its way.
	way, err := c.Proxy(account)
	s.do(err)
	t.Cleanup(func() { s.do(way.Close()) })
	kubeconfig, err = c.WriteKubeconfig(way.Config)
	s.do(err)
	standby := startReceiving(t, kubeconfig)
	path := ""
	s.until("the source has a path", func() error {
		src := &v1.NodePoolSource{}
		if err := s.Get(t.Context(), client.ObjectKey{Name: "pools"}, src); err != nil {
			return err
		}
		if path = src.Status.WebhookPath; path == "" {
			return fmt.Errorf("it has none: %v", src.Status.Conditions)
		}
		return nil
	})

	for turn, receiving := range []*process{standby, leader, standby, leader} {
		address := s.listening(receiving)
		value := fmt.Sprint("turn-", turn)
		s.commit(map[string]string{"a.yaml": hookedPool(value)})
		s.until("the push is accepted", func() error { return deliver("http://"+address+path, webhookToken) })
		s.labelled("n1", "turn", value)
	}
	if err := deliver("http://"+s.listening(standby)+path, "another-token-of-a-webhook"); err == nil {
		t.Error("another token is accepted")
	}
	asked := 0
	for _, p := range way.Seen(time.Time{}) {
		write := cluster.Request{Verb: p.Verb, Object: p.Object, DryRun: p.DryRun}.Write()
		switch {
		case p.Verb == "patch" && p.Object.Resource == "nodepoolsources" && p.Object.Subresource == "":
			asked++
		case write:
			t.Errorf("without the lease: %s", p)
		}
	}
	for _, request := range audit(t, c) {
		if strings.HasSuffix(request.User, ":"+manifests.Name) && request.Code == http.StatusForbidden {
			t.Errorf("refused, so a rule is missing: %s", request)
		}
	}
	if asked < 2 {
		t.Errorf("the replica without the lease has asked %d times, want at least 2", asked)
	}
	for name, p := range map[string]*process{"leader": leader, "standby": standby} {
		s.do(p.cmd.Process.Signal(syscall.SIGTERM))
		<-p.ended
		if code := p.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("%s ended with %d:\n%s", name, code, p.log.String())
		}
		if strings.Contains(p.log.String(), webhookToken) {
			t.Errorf("the log of %s has the token", name)
		}
	}
}

func hookedPool(turn string) string {
	return strings.Replace(poolFile("a", "runc"), "  labels:\n", "  labels:\n    turn: "+turn+"\n", 1)
}

// startReceiving starts a replica that receives webhooks, at a free port.
func startReceiving(t *testing.T, kubeconfig string) *process {
	t.Helper()
	p := runController(t, kubeconfig, t.TempDir(), "--leader-elect", "--leader-election-namespace", manifests.DefaultNamespace,
		"--webhook-bind-address", "127.0.0.1:0")
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("log of a replica:\n%s", p.log.String())
		}
	})
	return p
}

var listeningAt = regexp.MustCompile(`receiving webhooks.* address=(127\.0\.0\.1:\d+)`)

// listening waits until a replica receives, and returns the address.
func (s *story) listening(p *process) string {
	s.t.Helper()
	address := ""
	s.until("a replica receives webhooks", func() error {
		found := listeningAt.FindStringSubmatch(p.log.String())
		if found == nil {
			return fmt.Errorf("its log has no address:\n%s", p.log.String())
		}
		address = found[1]
		return nil
	})
	return address
}

// deliver posts what a script would, and returns an error where that is not accepted.
func deliver(url, token string) error {
	const body = "pushed"
	mac := hmac.New(sha512.New, []byte(token))
	mac.Write([]byte(body)) // never fails
	request, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("X-Signature", "sha512="+hex.EncodeToString(mac.Sum(nil)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() // nothing is read from it
	if response.StatusCode != http.StatusAccepted {
		return fmt.Errorf("the answer is %s", response.Status)
	}
	return nil
}
