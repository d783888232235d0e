package receiver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/metrics"
	"github.com/nodepools/nodepools/source/webhook"
)

const (
	// maxBody is what GitHub sends at the most; others send less. It is not kept: a
	// signature is computed as it comes.
	maxBody = 25 << 20
	// maxChecks is how many signatures of one source are checked at a time, for which bodies
	// are read: whoever knows its path takes no places of others. maxWaiting is how long a
	// request waits for its turn: a burst of pushes comes at once, and most Git servers
	// deliver once only. GitHub waits 10 s for an answer.
	maxChecks  = 8
	maxWaiting = 5 * time.Second
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

// handler answers requests of Git servers, and of anybody else. What is not signed costs no
// more than its header, and takes nothing from what is.
type handler struct {
	cached  client.Reader
	tokens  *tokens
	accept  func(source string)
	metrics *metrics.Metrics

	mu     sync.Mutex
	checks map[string]chan struct{} // that are under way, by the name of the source
}

func newHandler(cached client.Reader, tokens *tokens, accept func(source string)) *handler {
	return &handler{cached: cached, tokens: tokens, accept: accept, checks: map[string]chan struct{}{}}
}

// ServeHTTP implements [http.Handler]. No answer has a byte of the request in it.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status := h.serve(w, r)
	h.metrics.WebhookAnswered(status)
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	if status != http.StatusAccepted {
		// Whoever goes on has to connect anew, and what was not read is not waited for.
		header.Set("Connection", "close")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, http.StatusText(status)+"\n") // the client may be gone
}

// serve asks for a poll of a source if a request was made with its token, and returns the
// status of the answer. A path that is not known costs a look into the index of the cache
// and nothing else.
func (h *handler) serve(w http.ResponseWriter, r *http.Request) int {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed
	}
	src := h.sourceAt(r.Context(), r.URL.Path)
	if src == nil {
		return http.StatusNotFound
	}
	token, err := h.tokens.of(r.Context(), src.Spec.Webhook.SecretRef.Name)
	switch {
	case errors.Is(err, errNoAnswer):
		w.Header().Set("Retry-After", "10")
		return http.StatusServiceUnavailable
	case err != nil || !token.IsPath(r.URL.Path, src.Name):
		// There is no token, or another one: then this is no longer the path.
		return http.StatusNotFound
	case r.ContentLength > maxBody:
		return http.StatusRequestEntityTooLarge
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	err = h.authenticate(r, token, src.Name)
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
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "1")
		return http.StatusTooManyRequests
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout
	default:
		return http.StatusBadRequest
	}
}

// errBusy says that others of the source are checked.
var errBusy = errors.New("as many signatures are checked as may be")

// authenticate returns why a request was not made with a token, or nil. A signature waits
// for its turn; all else is decided by the header.
func (h *handler) authenticate(r *http.Request, token webhook.Token, source string) error {
	verify, err := token.Authenticate(r.Header)
	if verify == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxWaiting)
	defer cancel()
	checks := h.checksOf(source)
	select {
	case checks <- struct{}{}:
		defer func() { <-checks }()
		return verify(r.Body)
	case <-ctx.Done():
		return errBusy
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

// checksOf are those of a source. There are no more than sources that ever had a webhook in
// the life of the process.
func (h *handler) checksOf(source string) chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.checks[source] == nil {
		h.checks[source] = make(chan struct{}, maxChecks)
	}
	return h.checks[source]
}
