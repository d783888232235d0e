package git

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/nodepools/nodepools/source"
)

// MaxAnswerBytes bounds the answer to [Repository.Ask]: 64 KiB.
const MaxAnswerBytes = 64 << 10

// Ask sends a request to a server beside that of the repository, such as one that
// issues tokens for it, over https and as the repository is asked: by its proxy,
// trusting its authorities, within its timeout, and to no address of this machine. The
// credential of the repository does not go along, and its certificate to the
// repository's own host alone.
//
// A redirect is an answer and is not followed. The body of the answer is in memory, and
// needs no closing.
func (r *Repository) Ask(request *http.Request) (*http.Response, error) {
	a := address{scheme: request.URL.Scheme, host: request.URL.Host, path: "/"}
	beside := *r
	beside.HTTPAuth, beside.SSHAuth = nil, nil
	if own, err := parseAddress(r.URL); err != nil || own.host != a.host {
		beside.Certificate = nil
	}
	t := &target{Repository: &beside, address: a, limits: defaultLimits()}
	if a.scheme != "https" {
		return nil, t.fail(source.ErrInvalid, "a token is asked for over https alone")
	}
	ctx, cancel := r.within(request.Context())
	defer cancel()
	answer, err := t.ask(request.WithContext(ctx))
	if err != nil {
		return nil, t.explain(ctx, err)
	}
	return answer, nil
}

func (t *target) ask(request *http.Request) (*http.Response, error) {
	roots, err := t.roots()
	if err != nil {
		return nil, err
	}
	s := &httpServer{target: t, ctx: request.Context(), proxies: &proxiesInUse{target: t}}
	s.client = &http.Client{
		Transport:     s.newTransport(roots),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer s.client.CloseIdleConnections()
	answer, err := s.client.Do(request)
	if err != nil {
		return nil, s.unanswered(err)
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(answer.Body, MaxAnswerBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(content) > MaxAnswerBytes:
		return nil, t.fail(source.ErrServer, fmt.Sprintf("the server answers with more than %d KiB, which no token has", MaxAnswerBytes>>10))
	}
	answer.Body = io.NopCloser(bytes.NewReader(content))
	return answer, nil
}
