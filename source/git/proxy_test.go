package git

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/auth"
	"github.com/nodepools/nodepools/testdata/proxies"
	"github.com/nodepools/nodepools/testdata/secrets"
	"github.com/nodepools/nodepools/testdata/sources"
)

// behind are repositories by names that only a proxy knows, and the servers that it
// knows by them. The certificates of httptest are for example.com.
type behind struct {
	repositories map[string]*Repository // by the scheme of their URLs
	servers      map[string]string
}

func serveBehind(t *testing.T) *behind {
	t.Helper()
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	plain, secured, shell := serveHTTP(t, r, false, nil), serveHTTP(t, r, true, nil), serveSSH(t)
	return &behind{
		repositories: map[string]*Repository{
			"http":  {URL: "http://example.com/repo"},
			"https": {URL: "https://example.com/repo", CABundle: secured.ca()},
			"ssh":   {URL: "ssh://git@example.com" + r.Dir, SSHAuth: shell.auth()},
		},
		servers: map[string]string{
			"example.com:80":  plain.Listener.Addr().String(),
			"example.com:443": secured.Listener.Addr().String(),
			"example.com:22":  shell.address,
		},
	}
}

var portOf = map[string]string{"http": "80", "https": "443", "ssh": "22"}

// through is a repository that is read by the proxy of a Secret.
func through(t *testing.T, repository *Repository, data map[string]string) *Repository {
	t.Helper()
	bytes := map[string][]byte{}
	for key, value := range data {
		bytes[key] = []byte(value)
	}
	proxy, err := auth.ParseProxy(bytes)
	if err != nil {
		t.Fatal(err)
	}
	by := *repository
	by.Proxy = proxy.For
	return &by
}

// TestProxies reads repositories over each transport by each kind of proxy, with and
// without a login.
func TestProxies(t *testing.T) {
	b := serveBehind(t)
	own := newAuthority(t)
	cert, key := own.sign(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	certificate := &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
	for kind, start := range map[string]func(*proxies.Proxy) *proxies.Proxy{
		"http":   func(p *proxies.Proxy) *proxies.Proxy { return proxies.HTTP(t, p, nil) },
		"https":  func(p *proxies.Proxy) *proxies.Proxy { return proxies.HTTP(t, p, certificate) },
		"socks5": func(p *proxies.Proxy) *proxies.Proxy { return proxies.SOCKS(t, p) },
	} {
		for _, login := range []map[string]string{nil, {"username": "user", "password": canary + "@:/ %"}} {
			for scheme, repository := range b.repositories {
				t.Run(fmt.Sprintf("%s by %s, login %t", scheme, kind, login != nil), func(t *testing.T) {
					proxy := start(&proxies.Proxy{Servers: b.servers, Username: login["username"], Password: login["password"]})
					data := map[string]string{"address": kind + "://" + proxy.Address}
					for key, value := range login {
						data[key] = value
					}
					g := through(t, repository, data)
					g.CABundle = append(slices.Clip(g.CABundle), own.pem()...)
					if _, err := both(t.Context(), g); err != nil {
						t.Fatal(err)
					}
					asked := proxy.Asked()
					if len(asked) == 0 || slices.ContainsFunc(asked, func(a string) bool { return a != "example.com:"+portOf[scheme] }) {
						t.Errorf("the proxy was asked for %v", asked)
					}
				})
			}
		}
	}
}

// Whatever a proxy does, there is one clear error, with what to do, and without what it
// was logged in with.
func TestTroubleWithProxies(t *testing.T) {
	b := serveBehind(t)
	secret := secrets.Of("proxy of a Secret")
	login := map[string]string{"username": "user", "password": secret}
	open := func(p *proxies.Proxy) map[string]string {
		return map[string]string{"http": proxies.HTTP(t, p, nil).Address}
	}
	socks := func(p *proxies.Proxy) map[string]string {
		return map[string]string{"socks5": proxies.SOCKS(t, p).Address}
	}
	saying := func(text string, scheme ...string) map[string]string {
		address := speak(t, text)
		all := map[string]string{}
		for _, each := range scheme {
			all[each] = address
		}
		return all
	}
	refuses := &proxies.Proxy{Servers: nil}
	for name, c := range map[string]struct {
		proxies map[string]string // addresses by kind
		want    error
		text    string
	}{
		"another login":            {open(&proxies.Proxy{Servers: b.servers, Username: "user", Password: "other"}), source.ErrUnreachable, "the proxy wants a credential, or another one"},
		"another login, of SOCKS":  {socks(&proxies.Proxy{Servers: b.servers, Username: "user", Password: "other"}), source.ErrUnreachable, "the proxy wants a credential, or another one"},
		"not to this host":         {open(refuses), source.ErrUnreachable, "the proxy answered with HTTP status 403"},
		"not to this host, SOCKS":  {socks(&proxies.Proxy{}), source.ErrUnreachable, "the proxy does not connect to the server"},
		"nobody there":             {map[string]string{"http": closed(t), "https": closed(t), "socks5": closed(t)}, source.ErrUnreachable, "no connection to the proxy: connection refused"},
		"no such name":             {map[string]string{"http": "proxy.invalid:80", "https": "proxy.invalid:443", "socks5": "proxy.invalid:1080"}, source.ErrUnreachable, "the host name of the proxy is not known"},
		"hangs":                    {saying("", "http", "https", "socks5"), source.ErrTimeout, "in time"},
		"words":                    {saying(secret+" "+secret+"\r\n\r\n", "http"), source.ErrUnreachable, ""},
		"words of SOCKS":           {saying(secret+secret+secret, "socks5"), source.ErrUnreachable, ""},
		"an answer without an end": {saying("HTTP/1.1 200 OK\r\nX: "+strings.Repeat(secret, 100_000), "http"), source.ErrUnreachable, ""},
		"no TLS":                   {saying("HTTP/1.1 400 "+secret+"\r\n\r\n", "https"), source.ErrUnreachable, "does not speak TLS"},
	} {
		for kind, address := range c.proxies {
			for scheme, repository := range b.repositories {
				if scheme == "http" && kind != "socks5" {
					continue // its requests go to the proxy itself: see TestSecretsOfProxy
				}
				t.Run(fmt.Sprintf("%s, %s by %s", name, scheme, kind), func(t *testing.T) {
					data := map[string]string{"address": kind + "://" + address}
					for key, value := range login {
						data[key] = value
					}
					g := through(t, repository, data)
					g.Timeout = 5 * time.Second
					if errors.Is(c.want, source.ErrTimeout) {
						g.Timeout = 200 * time.Millisecond
					}
					logged := standardLog(t)
					_, err := both(t.Context(), g)
					sources.WantError(t, err, c.want)
					if !strings.Contains(fmt.Sprint(err), c.text) || source.Hint(err) == "" {
						t.Errorf("%v, want %s; hint %q", err, c.text, source.Hint(err))
					}
					wantNoSecret(t, secret, printed(err)+logged.String())
				})
			}
		}
	}
}

// speak starts a server that says something to whoever has said something, and then
// nothing any more; it is the address.
func speak(t *testing.T, text string) string {
	t.Helper()
	return accept(t, func(conn net.Conn) { // whose client may have gone at any point
		_, _ = conn.Read(make([]byte, 1))
		_, _ = io.WriteString(conn, text)
		if text != "" {
			_ = conn.(*net.TCPConn).CloseWrite()
		}
		_, _ = io.Copy(io.Discard, conn)
	})
}

// What a server has said in the same packet as the answer of the proxy is not lost:
// servers of ssh begin.
func TestTunnelKeepsWhatCameEarly(t *testing.T) {
	address := speak(t, "HTTP/1.1 200 OK\r\n\r\nSSH-2.0-early\r\n")
	proxy, err := auth.ParseProxy(map[string][]byte{"address": []byte("http://" + address)})
	if err != nil {
		t.Fatal(err)
	}
	g, err := (&Repository{URL: "ssh://example.com/a", Proxy: proxy.For}).check()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := g.dialServer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if said, err := io.ReadAll(conn); string(said) != "SSH-2.0-early\r\n" || err != nil {
		t.Errorf("%q, %v", said, err)
	}
}

// TestSquid reads repositories by the proxy that most companies have.
func TestSquid(t *testing.T) {
	program, err := exec.LookPath("squid")
	if err != nil {
		program = "/usr/sbin/squid"
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("SKIPPED: there is no squid on this machine (Debian: squid); the same is tested against a proxy in Go by TestProxies")
	}
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	secured, shell := serveHTTP(t, r, true, nil), serveSSH(t)
	dir, err := os.MkdirTemp("", "squid") //nolint:usetesting // as root squid runs as another user, who may not read in a folder of TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // there is nothing in it to hide
		t.Fatal(err)
	}
	address := free(t)
	hosts, config, said := filepath.Join(dir, "hosts"), filepath.Join(dir, "squid.conf"), filepath.Join(dir, "said")
	_, port, _ := net.SplitHostPort(secured.Listener.Addr().String())
	_, shellPort, _ := net.SplitHostPort(shell.address)
	for file, text := range map[string]string{
		hosts: "127.0.0.1 example.com\n",
		config: fmt.Sprintf("http_port %s\nhosts_file %s\nacl there port %s %s\nhttp_access allow CONNECT there\nhttp_access deny all\n"+
			"pid_filename none\naccess_log none\ncache_log %s\ncache deny all\nshutdown_lifetime 0 seconds\n", address, hosts, port, shellPort, said),
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "-N", "-f", config)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	awaitListener(t, address, said)
	for _, g := range []*Repository{
		{URL: "https://example.com:" + port + "/repo", CABundle: secured.ca()},
		{URL: "ssh://git@example.com:" + shellPort + r.Dir, SSHAuth: shell.auth()},
	} {
		if _, err := both(t.Context(), through(t, g, map[string]string{"address": "http://" + address})); err != nil {
			t.Errorf("%s: %v", g.URL, err)
		}
	}
	_, err = both(t.Context(), through(t, &Repository{URL: "https://example.com:1/repo"}, map[string]string{"address": "http://" + address}))
	if sources.WantError(t, err, source.ErrUnreachable); !strings.Contains(fmt.Sprint(err), "HTTP status 403") {
		t.Errorf("a port that squid does not allow: %v", err)
	}
}
