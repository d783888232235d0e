package receiver

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/source/webhook"
)

const (
	// tokenPeriod is how long a token is used before its Secret is read again: a burst
	// of requests, right or wrong, costs one read in a second.
	tokenPeriod = time.Second
	// readTimeout bounds one read.
	readTimeout = 5 * time.Second
)

// errNoAnswer says that it is not known whether there is a token.
var errNoAnswer = errors.New("the Secret cannot be read from the API server")

// tokens reads the Secrets that sources name, each by its name.
type tokens struct {
	api       client.Reader
	namespace string
	now       func() time.Time

	mu   sync.Mutex
	read map[string]*tokenRead // by the name of the Secret
}

// tokenRead is what a Secret had when it was read last.
type tokenRead struct {
	mu    sync.Mutex // held while it is read
	at    time.Time
	token webhook.Token
	err   error
}

func newTokens(api client.Reader, namespace string) *tokens {
	return &tokens{api: api, namespace: namespace, now: time.Now, read: map[string]*tokenRead{}}
}

// of returns the token in a Secret. Where several ask at a time, one reads; other Secrets
// do not wait for it. The answer is of the Secret, and not of the request: it is kept
// though the client may be gone.
func (t *tokens) of(ctx context.Context, secret string) (webhook.Token, error) {
	t.mu.Lock()
	known := t.read[secret]
	if known == nil {
		known = &tokenRead{}
		t.read[secret] = known
	}
	t.mu.Unlock()
	known.mu.Lock()
	defer known.mu.Unlock()
	if t.now().Sub(known.at) >= tokenPeriod {
		known.token, known.err = t.get(context.WithoutCancel(ctx), secret)
		known.at = t.now()
	}
	return known.token, known.err
}

func (t *tokens) get(ctx context.Context, name string) (webhook.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	secret := &corev1.Secret{}
	err := t.api.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: name}, secret)
	switch {
	case err == nil:
		return webhook.ParseToken(string(secret.Type), secret.Data)
	case apierrors.IsNotFound(err):
		return webhook.Token{}, err
	default:
		return webhook.Token{}, errNoAnswer
	}
}
