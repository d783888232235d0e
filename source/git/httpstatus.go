package git

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/nodepools/nodepools/source"
)

// httpStatus is the error of an answer that is none, with the status of it.
type httpStatus struct {
	code      int
	explained *source.Error
}

func (h *httpStatus) Error() string { return h.explained.Error() }
func (h *httpStatus) Unwrap() error { return h.explained }

// status explains an answer by its HTTP status. Nothing else of it is regarded but how
// long to wait, which is a number.
func (t *target) status(res *http.Response) *httpStatus {
	explained := t.explainStatus(res.StatusCode)
	wait := retryAfter(res.Header.Get("Retry-After"), time.Now())
	if wait > 0 && (res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusServiceUnavailable) {
		text := fmt.Sprintf("the server answered with HTTP status %d, and asks to wait %v", res.StatusCode, wait)
		explained = t.fail(explained.Kind(), text).WithHint(explained.Hint()).WithRetryAfter(wait)
	}
	return &httpStatus{res.StatusCode, explained}
}

func (t *target) explainStatus(code int) *source.Error {
	text := fmt.Sprintf("the server answered with HTTP status %d", code)
	switch {
	case code == 401 && t.HTTPAuth == nil:
		return t.fail(source.ErrUnauthorized, text).WithHint(t.Login.missing())
	case code == 401, code == 403:
		return t.fail(source.ErrUnauthorized, text)
	case code == 404, code == 410:
		return t.fail(source.ErrRepositoryMissing, text)
	case code == 407:
		return t.proxyLogin()
	case code == 429:
		return t.fail(source.ErrRateLimited, text)
	case code >= 300 && code < 400:
		return t.fail(source.ErrRedirect, text)
	}
	return t.fail(source.ErrServer, text)
}

// retryAfter reads the header of that name, which is a number of seconds or a date, by the
// clock of this machine: https://httpwg.org/specs/rfc9110.html#field.retry-after. It is
// rounded up, so that what is said about it changes less often than the clock, and at most
// [source.MaxRetryAfter]. What cannot be read, or is over, is 0.
func retryAfter(header string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.ParseUint(header, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if date, err := http.ParseTime(header); err == nil {
		wait = date.Sub(now)
	}
	step := 10 * time.Second
	if wait > time.Minute {
		step = time.Minute
	}
	wait = (max(wait, 0) + step - 1).Truncate(step)
	return min(wait, source.MaxRetryAfter)
}
