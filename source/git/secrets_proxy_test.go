package git

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/nodepools/nodepools/testdata/secrets"
)

// proxied names the URL that a process of its own is to read, and proxiedBy by
// which proxy. The standard library reads the proxy from the environment once for
// each process, and uses none for this machine.
const (
	proxied   = "NODEPOOLS_TEST_PROXIED"
	proxiedBy = "NODEPOOLS_TEST_PROXY"
)

// The credential of a proxy stands in the environment. It goes to the proxy, and
// is in no error and no log, whatever the proxy answers.
func TestSecretsOfProxy(t *testing.T) {
	if target := os.Getenv(proxied); target != "" {
		_, err := (&Repository{URL: target, Timeout: 10 * time.Second}).Head(t.Context())
		fmt.Printf("the error is %s\n", printed(err))
		return
	}
	secret := secrets.Of("proxy")
	proxy := serve(t, false, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code := http.StatusProxyAuthRequired
		if strings.Contains(r.Host, "allowed") {
			code = http.StatusBadGateway
		}
		sent := r.Header.Get("Proxy-Authorization")
		if sent == "" {
			t.Error("no credential came to the proxy: this proves nothing")
		}
		w.Header().Set("Proxy-Authenticate", `Basic realm="`+sent+secret+`"`)
		w.WriteHeader(code)
		fmt.Fprintln(w, sent, secret)
	}))
	withUser := func(host string) string { return "http://user:" + url.QueryEscape(secret) + "@" + host }
	there := withUser(strings.TrimPrefix(proxy.URL, "http://"))
	talking := raw(func(secret string) string {
		return "HTTP/1.1 407 " + secret + "\r\nContent-Length: 0\r\nProxy-Authenticate: Basic realm=\"" + secret + "\"\r\n\r\n"
	})(t, secret)
	for name, c := range map[string]struct{ reason, proxy, target, want string }{
		"credential refused":           {"407 for a request", there, "http://git.invalid/a", "Unreachable"},
		"credential refused for https": {"407 for a tunnel", there, "https://git.invalid/a", "Unreachable"},
		"reason phrase":                {"the only part of the answer that net/http puts into its error", strings.TrimSuffix(talking.URL, "/repo"), "https://git.invalid/a", "Unreachable"},
		"no way on":                    {"502 for a request", there, "http://allowed.invalid/a", "ServerFailed"},
		"no tunnel":                    {"502 for a tunnel", there, "https://allowed.invalid/a", "Unreachable"},
		"nobody there":                 {"no connection to the proxy", withUser(closed(t)), "https://git.invalid/a", "Unreachable"},
		"no such name":                 {"the lookup of the proxy fails", withUser("proxy.invalid"), "https://git.invalid/a", "Unreachable"},
		"no address":                   {"the parser's error repeats it", withUser("proxy.invalid:port"), "https://git.invalid/a", "Unreachable"},
		"no known kind":                {"the error repeats the kind", "gopher://" + secret + "@localhost", "https://git.invalid/a", "Unreachable"},
		"socks":                        {"another kind of proxy", strings.Replace(withUser(closed(t)), "http", "socks5", 1), "https://git.invalid/a", "Unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run=^TestSecretsOfProxy$", "-test.v")
			child.Env = append(os.Environ(), proxied+"="+c.target, proxiedBy+"="+c.proxy)
			out, err := child.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			line := reasonLine(string(out))
			if !strings.HasSuffix(line, " "+c.want) {
				t.Errorf("%s: got %q, want it to be %s", c.reason, line, c.want)
			}
			wantNoSecret(t, secret, string(out))
		})
	}
}

func reasonLine(out string) string {
	lines := bufio.NewScanner(strings.NewReader(out))
	for lines.Scan() {
		if strings.Contains(lines.Text(), "the error is ") {
			return lines.Text()
		}
	}
	return "no error"
}
