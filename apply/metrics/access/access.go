// Package access lets those read the metrics who have the right to, as Kubernetes has it:
// the API server says whose a token is (TokenReview) and whether that one may get the path
// (SubjectAccessReview). Start with [New].
//
// controller-runtime has the same, by the library of the API server, which would more than
// double what the program is made of.
package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

const (
	// fresh is how long an answer counts, so how long it takes until a token that was
	// revoked no longer works.
	fresh = time.Minute
	// stale is how long one counts that cannot be renewed: the metrics are wanted most
	// while the API server is away.
	stale = 5 * time.Minute
	// refusedFresh is how long a refusal counts: a right that is given works soon.
	refusedFresh = 10 * time.Second
	// maxToken bounds a token, in bytes. Those of ServiceAccounts have some 1,200.
	maxToken = 16 << 10
	// maxTarget bounds the method and the path of a request, in bytes, as they are kept.
	maxTarget = 256
	// maxKnown bounds the tokens of which an answer is kept.
	maxKnown = 1000
	// reviewTimeout bounds both reviews together.
	reviewTimeout = 5 * time.Second
	// reviewRate and reviewBurst bound the requests to the API server that whoever can
	// connect causes, in a second and at once.
	reviewRate, reviewBurst = 20, 40
)

// Guard lets those read who may. Make one with [New].
type Guard struct {
	tokens authenticationclient.TokenReviewInterface
	rights authorizationclient.SubjectAccessReviewInterface
	log    logr.Logger
	now    func() time.Time

	// turns has each host wait for its own reviews, and for nobody else's.
	turns turns

	mu    sync.Mutex
	known map[request]answer
	// complained is when an error was logged last.
	complained time.Time
}

// request is what an answer is for.
type request struct {
	token      [sha256.Size]byte
	verb, path string
}

// answer is the status that a request is answered with; 200 lets it pass.
type answer struct {
	status int
	at     time.Time
}

// New returns a guard that asks an API server. Nothing may hold its requests back while
// this replica does not work.
func New(config *rest.Config, logger logr.Logger) (*Guard, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.RateLimiter = reviewRate, reviewBurst, nil
	tokens, err := authenticationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	rights, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return &Guard{
		tokens: tokens.TokenReviews(), rights: rights.SubjectAccessReviews(),
		log: logger.WithName("metrics"), now: time.Now, known: map[request]answer{},
	}, nil
}

// Before returns a handler that passes on what may pass. No answer of it has a byte of
// the request or of the API server.
func (g *Guard) Before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := g.judge(r)
		if status == http.StatusOK {
			next.ServeHTTP(w, r)
			return
		}
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		http.Error(w, http.StatusText(status), status)
	})
}

// judge returns the status that a request is answered with.
func (g *Guard) judge(r *http.Request) int {
	token, found := bearer(r)
	if !found {
		return http.StatusUnauthorized
	}
	if len(r.Method)+len(r.URL.Path) > maxTarget {
		return http.StatusRequestURITooLong
	}
	of := request{digest(token), strings.ToLower(r.Method), r.URL.Path}
	known, valid := g.recall(of)
	if valid {
		return known.status
	}
	status, err := g.ask(r, token, of, known)
	switch {
	case err == nil:
		return status
	case known.status == http.StatusOK && g.now().Sub(known.at) < stale:
		return http.StatusOK
	case r.Context().Err() == nil && g.mayComplain():
		g.log.Error(err, "who asks for the metrics is not known")
	}
	return http.StatusServiceUnavailable
}

// ask returns the answer of the API server, when it is the turn of who asks: reviews are
// limited together, and whoever sends one token after the other would leave none to the
// others. Who was let in waits for no stranger, even where they share an address.
func (g *Guard) ask(r *http.Request, token string, of request, known answer) (status int, err error) {
	ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
	defer cancel()
	whose := hostOf(r.RemoteAddr)
	if known.status == http.StatusOK {
		whose = string(of.token[:])
	}
	end, err := g.turns.take(ctx, whose)
	if err != nil {
		return 0, fmt.Errorf("too many reviews for one address: %w", err)
	}
	defer end()
	// A request that had its turn before may have been the same.
	if known, valid := g.recall(of); valid {
		return known.status, nil
	}
	status, err = g.review(ctx, token, of)
	if err == nil {
		g.remember(of, status)
	}
	return status, err
}

// mayComplain reports whether it is time for another line in the log: while the API
// server is away, strangers would write there as often as they ask.
func (g *Guard) mayComplain() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if !g.complained.IsZero() && now.Sub(g.complained) < fresh {
		return false
	}
	g.complained = now
	return true
}

// digest stands for a token, which is not kept.
func digest(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// bearer returns the token of a request.
func bearer(r *http.Request) (token string, found bool) {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return "", false
	}
	scheme, token, found := strings.Cut(headers[0], " ")
	token = strings.TrimSpace(token)
	return token, found && strings.EqualFold(scheme, "bearer") && token != "" && len(token) <= maxToken
}

// review asks the API server whose a token is, and whether that one has the right.
func (g *Guard) review(ctx context.Context, token string, of request) (status int, err error) {
	who, err := g.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("create a TokenReview: %w", err)
	}
	if !who.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user := who.Status.User
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, value := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(value)
	}
	may, err := g.rights.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: of.path, Verb: of.verb},
	}}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return 0, fmt.Errorf("create a SubjectAccessReview: %w", err)
	case may.Status.Denied && may.Status.Allowed:
		return 0, errors.New("the API server allows it and denies it")
	case !may.Status.Allowed:
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}

// recall returns the last answer to a request, and whether it counts without asking.
func (g *Guard) recall(of request) (known answer, valid bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	known, found := g.known[of]
	return known, found && g.now().Sub(known.at) < known.period()
}

// period is how long an answer counts without asking.
func (a answer) period() time.Duration {
	if a.status == http.StatusOK {
		return fresh
	}
	return refusedFresh
}

// remember keeps an answer. Where there are too many, those go that a stranger has caused
// before those by which somebody reads.
func (g *Guard) remember(of request, status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.known) >= maxKnown {
		now := g.now()
		maps.DeleteFunc(g.known, func(_ request, a answer) bool {
			return a.status != http.StatusOK || now.Sub(a.at) >= stale
		})
	}
	if len(g.known) >= maxKnown {
		clear(g.known)
	}
	g.known[of] = answer{status, g.now()}
}
