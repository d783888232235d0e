package receiver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/metrics"
	"github.com/nodepools/nodepools/source/webhook"
)

const (
	// maxBody is what GitHub sends at the most; others send less. It is not kept: a
	// signature is computed as it comes.
	maxBody = 25 << 20
	// sourceRate and sourceBurst bound the requests to the webhook of one source, right
	// or wrong, in a second and at once. A burst of pushes is far below.
	sourceRate, sourceBurst = 20, 200
)

// pathIndex is the index of sources by the path of their webhook.
const pathIndex = "status.webhookPath"

func pathsOf(object client.Object) []string {
	src, ok := object.(*v1.NodePoolSource)
	if !ok || src.Spec.Webhook == nil || src.Status.WebhookPath == "" {
		return nil
	}
	return []string{src.Status.WebhookPath}
}

// handler answers requests of Git servers, and of anybody else.
type handler struct {
	cached  client.Reader
	tokens  *tokens
	accept  func(source string)
	reading *places
	refused refusals
	metrics *metrics.Metrics

	mu     sync.Mutex
	limits map[string]flowcontrol.PassiveRateLimiter // by the name of the source
}

func newHandler(cached client.Reader, tokens *tokens, accept func(source string)) *handler {
	return &handler{
		cached: cached, tokens: tokens, accept: accept,
		reading: newPlaces(), limits: map[string]flowcontrol.PassiveRateLimiter{},
	}
}

// ServeHTTP implements [http.Handler]. No answer has a byte of the request in it.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status := h.serve(w, r)
	h.metrics.WebhookAnswered(status)
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	if status != http.StatusAccepted {
		h.refused.add(status)
		// Whoever goes on has to connect anew, and what was not read is not waited for.
		header.Set("Connection", "close")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, http.StatusText(status)+"\n") // the client may be gone
}

// serve returns the status of the answer. A path that is not known costs a look into
// the index of the cache and nothing else.
func (h *handler) serve(w http.ResponseWriter, r *http.Request) int {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed
	}
	src := h.sourceAt(r.Context(), r.URL.Path)
	if src == nil {
		return http.StatusNotFound
	}
	if !h.limit(src.Name).TryAccept() {
		w.Header().Set("Retry-After", "1")
		return http.StatusTooManyRequests
	}
	if r.ContentLength > maxBody {
		return http.StatusRequestEntityTooLarge
	}
	return h.authenticate(w, r, src)
}

// authenticate asks for a poll of a source if a request was made with its token.
func (h *handler) authenticate(w http.ResponseWriter, r *http.Request, src *v1.NodePoolSource) int {
	token, err := h.tokens.of(r.Context(), src.Spec.Webhook.SecretRef.Name)
	switch {
	case errors.Is(err, errNoAnswer):
		w.Header().Set("Retry-After", "10")
		return http.StatusServiceUnavailable
	case err != nil || !token.IsPath(r.URL.Path, src.Name):
		// There is no token, or another one: then this is no longer the path.
		return http.StatusNotFound
	}
	release, ok := h.reading.take(r.Context(), src.Name)
	if !ok {
		w.Header().Set("Retry-After", "1")
		return http.StatusTooManyRequests
	}
	defer release()
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	err = token.Authenticate(r)
	if err == nil {
		// What a token did not take to read: a server that is cut off takes the answer
		// for a failure.
		_, err = io.Copy(io.Discard, r.Body)
	}
	switch tooLarge := (*http.MaxBytesError)(nil); {
	case err == nil:
		h.accept(src.Name)
		return http.StatusAccepted
	case errors.Is(err, webhook.ErrUnsigned), errors.Is(err, webhook.ErrWrong):
		return http.StatusUnauthorized
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout
	default:
		return http.StatusBadRequest
	}
}

// sourceAt returns the source with a webhook at a path; nil where there is none. Two may
// have the same path for a moment, when one is made again.
func (h *handler) sourceAt(ctx context.Context, path string) *v1.NodePoolSource {
	if !strings.HasPrefix(path, webhook.PathPrefix) {
		return nil
	}
	var list v1.NodePoolSourceList
	err := h.cached.List(ctx, &list, client.MatchingFields{pathIndex: path}, client.UnsafeDisableDeepCopy)
	if err != nil || len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

// limit returns the limiter of a source. There are no more than sources that ever had a
// webhook in the life of the process.
func (h *handler) limit(source string) flowcontrol.PassiveRateLimiter {
	h.mu.Lock()
	defer h.mu.Unlock()
	limiter := h.limits[source]
	if limiter == nil {
		limiter = flowcontrol.NewTokenBucketPassiveRateLimiter(sourceRate, sourceBurst)
		h.limits[source] = limiter
	}
	return limiter
}
