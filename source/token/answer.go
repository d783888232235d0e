package token

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nodepools/nodepools/source"
)

// answer is what an issuer has answered.
type answer struct {
	server string // its host, for errors
	status int
	header http.Header
	body   []byte
	// ahead is by how much our clock is ahead of that of the server; 0 where the answer
	// has no time.
	ahead time.Duration
}

// ask sends a request, and reads the answer.
func ask(send Send, request *http.Request, now time.Time) (*answer, error) {
	request.Header.Set("User-Agent", "nodepools")
	response, err := send(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	a := &answer{server: request.URL.Host, status: response.StatusCode, header: response.Header}
	if a.body, err = io.ReadAll(response.Body); err != nil {
		return nil, source.NewError(source.ErrServer, a.server, "the answer cannot be read")
	}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		a.ahead = now.Sub(date).Truncate(time.Second)
	}
	return a, nil
}

// decode reads a body of JSON.
func (a *answer) decode(into any) error { return json.Unmarshal(a.body, into) }

// ok reports whether the server has done what it was asked for.
func (a *answer) ok() bool { return a.status >= 200 && a.status < 300 }

// maxSkew is by how much two clocks may differ until it is said, where a token was
// refused: the JWT of a GitHub App begins a minute back.
const maxSkew = time.Minute

// clock explains a refusal by the clocks of the two; nil where they agree.
func (a *answer) clock() error {
	direction, by := "ahead of", a.ahead
	if by < 0 {
		direction, by = "behind", -by
	}
	if by < maxSkew {
		return nil
	}
	return refused(fmt.Sprintf("%s does not take what is signed with the time of this machine, which is %s %s its own", a.server, by, direction),
		"correct the clock of the node that the controller runs on")
}

// refusal makes an error of a status that nothing else explains.
func (a *answer) refusal(hint string) error {
	switch {
	case a.status >= 300 && a.status < 400:
		return source.NewError(source.ErrRedirect, a.server, fmt.Sprintf("the server of tokens redirects (HTTP status %d)", a.status)).
			WithHint("name the server that it redirects to")
	case a.status == http.StatusProxyAuthRequired:
		return source.NewError(source.ErrUnreachable, a.server, "the proxy wants a credential, or another one").
			WithHint("correct username and password in the Secret that spec.proxySecretRef names")
	case a.status >= 500:
		return source.NewError(source.ErrServer, a.server, fmt.Sprintf("the server of tokens fails (HTTP status %d)", a.status)).
			WithHint("it is tried again; see whether its status page reports trouble")
	}
	return refused(fmt.Sprintf("%s issues no token (HTTP status %d)", a.server, a.status), hint)
}

// busy explains a server that asks for time; nil for one that does not.
func (a *answer) busy(now time.Time) error {
	after, asked := a.retryAfter(now)
	limited := a.status == http.StatusTooManyRequests || asked && (a.status == http.StatusForbidden || a.status == http.StatusServiceUnavailable)
	if !limited {
		return nil
	}
	after = wait(after)
	return &busyError{after: after, err: refused(fmt.Sprintf("%s has had too many requests (HTTP status %d), and is asked again in %s", a.server, a.status, after.Round(time.Second)),
		"nothing to do where it passes; else see what else asks with this identity")}
}

// retryAfter is how long the server wants not to be asked.
func (a *answer) retryAfter(now time.Time) (after time.Duration, asked bool) {
	text := a.header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if date, err := http.ParseTime(text); err == nil {
		return date.Sub(now), true
	}
	// GitHub says when the limit is reset instead, as a number of seconds.
	if a.header.Get("X-Ratelimit-Remaining") == "0" {
		if at, err := strconv.ParseInt(a.header.Get("X-Ratelimit-Reset"), 10, 64); err == nil {
			return time.Unix(at, 0).Sub(now), true
		}
	}
	return 0, false
}

// says reports whether the body has one of some words, which are in lower case. What it
// says decides which error it is, and is dropped.
func (a *answer) says(words ...string) bool {
	body := strings.ToLower(string(a.body))
	for _, each := range words {
		if strings.Contains(body, each) {
			return true
		}
	}
	return false
}
