package controller

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/hostile"
)

// Strangers cause nothing: no write, no poll, no request to the API server but one read
// of a Secret in a second, and no line in the log that has a byte of theirs.
func TestGitPushAttacks(t *testing.T) {
	w := newPushWorld(t)
	w.token("hook", v1.WebhookSecretType, hookToken)
	w.token("other", v1.WebhookSecretType, "another-token-of-enough-bytes")
	repo, other := newRepository(t), newRepository(t)
	server := repo.serve(t)
	w.source("attacked", server.url(), rarely, hooked("hook"))
	w.source("other", other.serve(t).url(), rarely, hooked("other"))
	w.follows("attacked", repo.commit(files{"pools/a.yaml": poolFile("a", "0")}))
	w.follows("other", other.commit(files{"pools/b.yaml": poolFile("b", "0")}))
	path, others := w.path("attacked"), w.path("other")
	server.requests()
	mark := w.mark()

	signed := "X-Hub-Signature-256: sha256=" + strings.Repeat("0", 64) + "\r\n"
	const head, end = " HTTP/1.1\r\nHost: x\r\n", "\r\n"
	for reason, c := range map[string]struct {
		request string
		want    int
	}{
		"no signature":                     {"POST " + path + head + "Content-Length: 2\r\n" + end + "{}", 401},
		"a wrong signature":                {"POST " + path + head + signed + "Content-Length: 2\r\n" + end + "{}", 401},
		"the token of another source":      {"POST " + path + head + "X-Gitlab-Token: another-token-of-enough-bytes\r\nContent-Length: 0\r\n" + end, 401},
		"the path of another source":       {"POST " + others + head + "X-Gitlab-Token: " + hookToken + "\r\nContent-Length: 0\r\n" + end, 401},
		"the token in the query":           {"POST " + path + "?token=" + hookToken + head + "Content-Length: 0\r\n" + end, 401},
		"another method":                   {"GET " + path + head + end, 405},
		"a method that there is not":       {"PWN " + path + head + end, 405},
		"the options of the server":        {"OPTIONS *" + head + end, 405},
		"a proxy":                          {"CONNECT metadata.internal:80" + head + end, 405},
		"no path":                          {"POST /" + head + "Content-Length: 0\r\n" + end, 404},
		"half of the path":                 {"POST " + path[:20] + head + "Content-Length: 0\r\n" + end, 404},
		"more than the path":               {"POST " + path + "/" + head + "Content-Length: 0\r\n" + end, 404},
		"a path that leads back":           {"POST /x/.." + path + head + "Content-Length: 0\r\n" + end, 404},
		"a path of files":                  {"POST /hook/../../../etc/passwd" + head + "Content-Length: 0\r\n" + end, 404},
		"two slashes":                      {"POST /" + path + head + "Content-Length: 0\r\n" + end, 404},
		"an empty name of a webhook":       {"POST /hook/" + head + "Content-Length: 0\r\n" + end, 404},
		"a body that is never sent":        {"POST /hook/x" + head + "Content-Length: 1000000\r\n" + end, 404},
		"chunks that are never sent":       {"POST /hook/x" + head + "Transfer-Encoding: chunked\r\n" + end + "5\r\nhel", 404},
		"the same, unsigned":               {"POST " + path + head + "Transfer-Encoding: chunked\r\n" + end + "5\r\nhel", 401},
		"a body as large as a disk":        {"POST " + path + head + signed + "Content-Length: 1000000000000\r\n" + end, 413},
		"a length that is none":            {"POST " + path + head + signed + "Content-Length: -1\r\n" + end, 400},
		"two lengths":                      {"POST " + path + head + signed + "Content-Length: 1\r\nContent-Length: 2\r\n" + end + "x", 400},
		"a length and chunks, which count": {"POST " + path + head + signed + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n" + end + "0\r\n\r\n", 401},
		"chunks that are none":             {"POST " + path + head + signed + "Transfer-Encoding: chunked\r\n" + end + "zz\r\n", 400},
		"a header as large as a book":      {"POST " + path + head + "X-Book: " + strings.Repeat("b", 1<<20) + "\r\n" + end, 431},
		"as many headers as a book":        {"POST " + path + head + strings.Repeat("X-Page: p\r\n", 100_000) + end, 431},
		"two hosts":                        {"POST " + path + head + "Host: y\r\n" + end, 400},
		"no HTTP":                          {"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400},
		"HTTP/2":                           {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 405},
	} {
		if status := w.raw(c.request); status != c.want {
			t.Errorf("%s: the answer is %d, want %d", reason, status, c.want)
		}
	}
	huge := http.Header{"X-Hub-Signature-256": {"sha256=" + strings.Repeat("0", 64)}}
	if status := w.chunked(path, huge, io.LimitReader(endless{}, 26<<20)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body without a length and an end: the answer is %d", status)
	}
	for _, each := range hostile.Strings() {
		text := each.Text
		request := fmt.Sprintf("POST /hook/%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %[1]s\r\nX-Gitlab-Token: %[1]s\r\n\r\n", text, "x")
		if status := w.raw(request); status == http.StatusAccepted {
			t.Errorf("%q: it is accepted", text)
		}
	}

	// The API server is not asked for a path that there is not.
	before := w.asked(mark)
	unknown := w.mark()
	var sending sync.WaitGroup
	for i := range 10 {
		sending.Go(func() {
			for j := range 1000 {
				if status := w.post(fmt.Sprintf("/hook/%064x", i*1000+j), nil, []byte("{}")); status != http.StatusNotFound {
					t.Errorf("an unknown path: the answer is %d", status)
				}
			}
		})
	}
	sending.Wait()
	if asked := w.asked(unknown); len(asked) > 0 {
		t.Errorf("10,000 unknown paths led to %v", asked)
	}
	// What is not signed takes nothing from what is, of this source and of another one.
	for range 400 {
		if status := w.post(path, nil, nil); status != http.StatusUnauthorized {
			t.Errorf("a known path: the answer is %d", status)
		}
	}
	for request, n := range before {
		if request != "get secrets" {
			t.Errorf("%d times %s", n, request)
		}
	}
	if lists, packs := server.requests(); lists+packs > 0 {
		t.Errorf("%d lists and %d packs were asked for", lists, packs)
	}
	if status := w.push(path, hookToken); status != http.StatusAccepted {
		t.Errorf("the attacked source: the answer is %d", status)
	}
	if status := w.push(others, "another-token-of-enough-bytes"); status != http.StatusAccepted {
		t.Errorf("the other source: the answer is %d", status)
	}
	w.stop()
	said := w.said.text()
	if lines := strings.Split(said, "\n"); len(lines) > 30 {
		t.Errorf("%d lines are logged:\n%s", len(lines), said)
	}
	wantNoSecret(t, hookToken, said)
	for _, each := range hostile.Strings() {
		text := each.Text
		if len(text) > 4 && strings.Contains(said, text) {
			t.Errorf("%q is logged", text)
		}
	}
}

// endless is a body that goes on.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// raw sends bytes, and returns the status of the answer; 0 where there is none.
func (w *pushWorld) raw(request string) int {
	w.t.Helper()
	c, err := (&net.Dialer{}).DialContext(w.t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
	w.do(err)
	defer c.Close()
	go func() { _, _ = io.WriteString(c, request) }() // it may be cut off
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	defer response.Body.Close() // it is read to its end
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// chunked sends a body without a length.
func (w *pushWorld) chunked(path string, header http.Header, body io.Reader) int {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+path, io.NopCloser(body))
	w.do(err)
	request.Header = header
	response, err := w.client.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close() // nothing is read from it
	return response.StatusCode
}
