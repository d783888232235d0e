package receiver

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/build"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/metrics"
	"github.com/nodepools/nodepools/source/webhook"
)

const rightToken = "0123456789abcdef0123456789abcdef"

// secrets stands for the API server, which the tests of package controller have: here it
// counts what it is asked for.
type secrets struct {
	client.Reader
	reads int
}

func (s *secrets) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	s.reads++
	secret := object.(*corev1.Secret)
	secret.Type, secret.Data = v1.WebhookSecretType, map[string][]byte{webhook.TokenKey: []byte(rightToken)}
	return nil
}

// index stands for the cache.
type index struct {
	client.Reader
	sources []v1.NodePoolSource
}

func (i *index) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var given client.ListOptions
	given.ApplyOptions(options)
	for _, src := range i.sources {
		if strings.Contains(given.FieldSelector.String(), src.Status.WebhookPath) {
			found := list.(*v1.NodePoolSourceList)
			found.Items = append(found.Items, src)
		}
	}
	return nil
}

// handlerOf handles the webhooks of sources, which name one Secret. It returns the paths.
func handlerOf(t *testing.T, api client.Reader, names ...string) (*handler, map[string]string) {
	t.Helper()
	token, err := webhook.ParseToken(v1.WebhookSecretType, map[string][]byte{webhook.TokenKey: []byte(rightToken)})
	if err != nil {
		t.Fatal(err)
	}
	cached, paths := &index{}, map[string]string{}
	for _, name := range names {
		src := v1.NodePoolSource{}
		src.Name, src.Spec.Webhook = name, &v1.Webhook{SecretRef: v1.SecretRef{Name: "push"}}
		src.Status.WebhookPath = token.Path(name)
		paths[name] = src.Status.WebhookPath
		cached.sources = append(cached.sources, src)
	}
	return newHandler(cached, newTokens(api, "ns"), func(string) {}), paths
}

// Whoever knows the path of one source, and sends bodies that do not end, keeps no other
// source from receiving.
func TestSlowBodiesOfOneSourceTakeNoPlacesOfOthers(t *testing.T) {
	synctest.Test(t, slowBodiesTakeNoPlacesOfOthers)
}

func slowBodiesTakeNoPlacesOfOthers(t *testing.T) {
	h, paths := handlerOf(t, &secrets{}, "attacked", "other")
	var slow []*io.PipeWriter
	answered := make(chan int, maxReading)
	for range maxReading {
		body, writer := io.Pipe()
		slow = append(slow, writer)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, paths["attacked"], body)
		r.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
		go func() {
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, r)
			answered <- answer.Code
		}()
	}
	right := httptest.NewRequestWithContext(t.Context(), http.MethodPost, paths["other"], nil)
	right.Header.Set("X-Gitlab-Token", rightToken)
	answer := httptest.NewRecorder()
	if h.ServeHTTP(answer, right); answer.Code != http.StatusAccepted {
		t.Errorf("the other source was answered %d, want %d", answer.Code, http.StatusAccepted)
	}
	for range maxReading - maxReadingOfOne { // those that find no place are answered
		if code := <-answered; code != http.StatusTooManyRequests {
			t.Errorf("a request beyond %d was answered %d, want %d", maxReadingOfOne, code, http.StatusTooManyRequests)
		}
	}
	for _, body := range slow {
		_ = body.Close()
	}
	for range maxReadingOfOne {
		<-answered
	}
	wantNoPlaceTaken(t, h)
}

// A burst of pushes finds a place each, though more come at once than are read at a time.
func TestBurstWaitsForPlaces(t *testing.T) {
	synctest.Test(t, burstWaitsForPlaces)
}

func burstWaitsForPlaces(t *testing.T) {
	h, paths := handlerOf(t, &secrets{}, "busy")
	var bodies []*io.PipeWriter
	answered := make(chan int, maxReading)
	for range maxReading {
		body, writer := io.Pipe()
		bodies = append(bodies, writer)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, paths["busy"], body)
		r.Header.Set("X-Gitlab-Token", rightToken)
		go func() {
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, r)
			answered <- answer.Code
		}()
	}
	synctest.Wait() // until some are read, and the others wait
	for _, body := range bodies {
		_ = body.Close()
	}
	for range maxReading {
		if code := <-answered; code != http.StatusAccepted {
			t.Errorf("a push was answered %d, want %d", code, http.StatusAccepted)
		}
	}
	wantNoPlaceTaken(t, h)
}

func wantNoPlaceTaken(t *testing.T, h *handler) {
	t.Helper()
	if len(h.reading.all) > 0 || len(h.reading.of) > 0 {
		t.Errorf("%d places are taken, of %v, and none is in use", len(h.reading.all), h.reading.of)
	}
}

// A client that hangs up at once does not cause a read of the Secret with each request.
func TestClientsThatAreGoneShareARead(t *testing.T) {
	api := &secrets{}
	h, paths := handlerOf(t, api, "a")
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost, paths["a"], nil))
	}
	// The clock may have passed a second or two in between.
	if api.reads < 1 || api.reads > 10 {
		t.Errorf("100 requests cost %d reads of the Secret", api.reads)
	}
}

// Each answer is counted by its status.
func TestAnswersAreCounted(t *testing.T) {
	h, paths := handlerOf(t, &secrets{}, "fleet")
	h.metrics = metrics.New(build.Read("v1.2.3", "", debug.ReadBuildInfo))
	for _, token := range []string{rightToken, "wrong", "wrong"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, paths["fleet"], nil)
		r.Header.Set("X-Gitlab-Token", token)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(h.metrics)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "nodepools_webhook_requests_total" {
				counted[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue()
			}
		}
	}
	if want := map[string]float64{"202": 1, "401": 2}; !maps.Equal(counted, want) {
		t.Errorf("the answers are counted as %v, want %v", counted, want)
	}
}
