package receiver

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
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

// Requests that are not signed, or signed with another token, take nothing from those that
// are.
func TestUnsignedRequestsTakeNothingFromSignedOnes(t *testing.T) {
	h, paths := handlerOf(t, &secrets{}, "fleet")
	for _, c := range []struct {
		reason, header, value string
	}{
		{"nothing to check", "", ""},
		{"another token", "X-Gitlab-Token", "wrong"},
		{"another signature", "X-Hub-Signature-256", "sha256=" + strings.Repeat("0", 64)},
	} {
		for range 1000 {
			r := post(t, paths["fleet"], strings.NewReader("push"))
			r.Header.Set(c.header, c.value)
			if code := answered(h, r); code != http.StatusUnauthorized {
				t.Fatalf("%s: the answer is %d, want %d", c.reason, code, http.StatusUnauthorized)
			}
		}
		if code := answered(h, signed(t, paths["fleet"], strings.NewReader("push"))); code != http.StatusAccepted {
			t.Errorf("after 1000 requests with %s a push was answered %d, want %d", c.reason, code, http.StatusAccepted)
		}
	}
}

// Whoever knows the path of one source, and sends bodies that do not end, keeps no other
// source from receiving, nor those who send the token itself.
func TestSlowBodiesOfOneSourceTakeNoPlacesOfOthers(t *testing.T) {
	synctest.Test(t, slowBodiesTakeNoPlacesOfOthers)
}

func slowBodiesTakeNoPlacesOfOthers(t *testing.T) {
	h, paths := handlerOf(t, &secrets{}, "attacked", "other")
	const requests = 16 * maxChecks
	codes, end := serveSlowly(t, h, paths["attacked"], requests)
	synctest.Wait() // until some are read, and the others wait
	if code := answered(h, signed(t, paths["other"], strings.NewReader("push"))); code != http.StatusAccepted {
		t.Errorf("the other source was answered %d, want %d", code, http.StatusAccepted)
	}
	token := post(t, paths["attacked"], nil)
	token.Header.Set("X-Gitlab-Token", rightToken)
	if code := answered(h, token); code != http.StatusAccepted {
		t.Errorf("who sends the token was answered %d, want %d", code, http.StatusAccepted)
	}
	for range requests - maxChecks { // those that find no place are answered
		if code := <-codes; code != http.StatusTooManyRequests {
			t.Errorf("a request beyond %d was answered %d, want %d", maxChecks, code, http.StatusTooManyRequests)
		}
	}
	end()
	for range maxChecks {
		<-codes
	}
	wantNoneChecked(t, h)
}

// A burst of pushes is checked, though more come at once than are at a time.
func TestBurstWaitsForPlaces(t *testing.T) {
	synctest.Test(t, burstWaitsForPlaces)
}

func burstWaitsForPlaces(t *testing.T) {
	h, paths := handlerOf(t, &secrets{}, "busy")
	const requests = 16 * maxChecks
	codes, end := serveSlowly(t, h, paths["busy"], requests)
	synctest.Wait() // until some are read, and the others wait
	end()
	for range requests {
		if code := <-codes; code != http.StatusAccepted {
			t.Errorf("a push was answered %d, want %d", code, http.StatusAccepted)
		}
	}
	wantNoneChecked(t, h)
}

// serveSlowly sends signed requests whose bodies, which are empty, end when that is called.
func serveSlowly(t *testing.T, h *handler, path string, requests int) (codes <-chan int, end func()) {
	var bodies []*io.PipeWriter
	answers := make(chan int, requests)
	for range requests {
		body, writer := io.Pipe()
		bodies = append(bodies, writer)
		r := signed(t, path, strings.NewReader(""))
		r.Body = body
		go func() { answers <- answered(h, r) }()
	}
	return answers, func() {
		for _, body := range bodies {
			_ = body.Close()
		}
	}
}

func post(t *testing.T, path string, body io.Reader) *http.Request {
	return httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, body)
}

// signed is a request that is signed with the right token.
func signed(t *testing.T, path string, body *strings.Reader) *http.Request {
	t.Helper()
	mac := hmac.New(sha256.New, []byte(rightToken))
	if _, err := io.Copy(mac, body); err != nil {
		t.Fatal(err)
	}
	_, err := body.Seek(0, io.SeekStart)
	if err != nil {
		t.Fatal(err)
	}
	r := post(t, path, body)
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	return r
}

func answered(h *handler, r *http.Request) int {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	return answer.Code
}

func wantNoneChecked(t *testing.T, h *handler) {
	t.Helper()
	for source, checks := range h.checks {
		if len(checks) > 0 {
			t.Errorf("%d checks of %s are under way, and none is", len(checks), source)
		}
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
