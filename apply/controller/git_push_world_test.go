package controller

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/receiver"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// receiverUser is who the receiver is to the API server in these tests.
const receiverUser = "nodepools-receiver"

// pushWorld is a world with a receiver beside the loops, as in a replica that does not
// hold the lease: it has caches of its own, and reconciles nothing.
type pushWorld struct {
	*gitWorld
	url    string // of the receiver
	client *http.Client
	said   *logLines
	// stop ends the receiver.
	stop func()
}

func newPushWorld(t *testing.T, adjust ...func(*receiver.Options)) *pushWorld {
	t.Helper()
	w := &pushWorld{gitWorld: newGitWorld(t), said: &logLines{}, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: manifests.DefaultNamespace}}
	w.do(client.IgnoreAlreadyExists(w.Create(t.Context(), namespace))) // another test may have made it
	config, err := w.cluster.AddUser(receiverUser, "system:masters")
	w.do(err)
	scheme, err := NewScheme()
	w.do(err)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, NewCache: nodecache.New, Metrics: metricsserver.Options{BindAddress: "0"},
		Logger: funcr.New(w.said.add, funcr.Options{}),
	})
	w.do(err)
	address := make(chan net.Addr, 1)
	options := receiver.Options{
		Address: "127.0.0.1:0", Config: config, Namespace: manifests.DefaultNamespace, Listening: func(a net.Addr) { address <- a },
	}
	for _, each := range adjust {
		each(&options)
	}
	r, err := receiver.Add(mgr, options)
	w.do(err)
	w.do(mgr.Add(r))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stopped := false
	w.stop = func() {
		if stopped {
			return
		}
		stopped = true
		w.client.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("receiver: %v", err)
		}
	}
	t.Cleanup(w.stop)
	select {
	case a := <-address:
		w.url = "http://" + a.String()
	case err := <-ended:
		t.Fatalf("the receiver ended: %v", err)
	}
	return w
}

// token makes or replaces the Secret of a webhook.
func (w *pushWorld) token(name, kind, token string) {
	w.t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: manifests.DefaultNamespace, Name: name},
		Type:       corev1.SecretType(kind), Data: map[string][]byte{"token": []byte(token)},
	}
	_ = w.Delete(w.t.Context(), secret.DeepCopy()) // there may be none
	w.do(w.Create(w.t.Context(), secret))
}

// hooked gives a source a webhook.
func hooked(secret string) func(*v1.NodePoolSource) {
	return func(src *v1.NodePoolSource) {
		src.Spec.Webhook = &v1.Webhook{SecretRef: v1.SecretRef{Name: secret}}
	}
}

// path waits until the receiver knows the webhook of a source, and returns its path.
func (w *pushWorld) path(source string) string {
	w.t.Helper()
	var path string
	w.sourceIs(source, "has a webhook", func(src *v1.NodePoolSource) error {
		path = src.Status.WebhookPath
		return conditionIs(src.Status.Conditions, v1.WebhookReadyCondition, metav1.ConditionTrue, v1.SucceededReason)
	})
	w.eventually("the receiver knows "+path, func() error {
		if status := w.post(path, nil, nil); status != http.StatusUnauthorized {
			return fmt.Errorf("it answers %d", status)
		}
		return nil
	})
	return path
}

// push delivers what GitHub would.
func (w *pushWorld) push(path, token string) int {
	const body = `{"ref":"refs/heads/main"}`
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte(body)) // never fails
	return w.post(path, http.Header{"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}, "X-Github-Event": {"push"}}, []byte(body))
}

// post returns the status of the answer; 0 where there is none.
func (w *pushWorld) post(path string, header http.Header, body []byte) int {
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+path, bytes.NewReader(body))
	if err != nil {
		w.t.Error(err)
		return 0
	}
	if header != nil {
		request.Header = header
	}
	response, err := w.client.Do(request)
	if err != nil {
		w.t.Errorf("POST %s: %v", path, err)
		return 0
	}
	defer response.Body.Close() // it is read to its end
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != http.StatusText(response.StatusCode)+"\n" {
		w.t.Errorf("POST %s: the answer is %q (%v)", path, text, err)
	}
	return response.StatusCode
}

// asked are the requests of the receiver to the API server since a mark that are no
// lists and no watches, such as "patch nodepoolsources".
func (w *pushWorld) asked(mark int64) map[string]int {
	w.t.Helper()
	requests, err := w.cluster.Audit(mark)
	w.do(err)
	counts := map[string]int{}
	for _, request := range requests {
		if request.User == receiverUser && request.Verb != "watch" && request.Verb != "list" {
			counts[describeRequest(request)]++
		}
	}
	return counts
}

func describeRequest(request cluster.Request) string {
	text := request.Verb + " " + request.Object.Resource
	if request.Object.Subresource != "" {
		text += "/" + request.Object.Subresource
	}
	if request.Code >= http.StatusBadRequest {
		text += " refused"
	}
	return text
}
