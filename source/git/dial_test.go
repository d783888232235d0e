package git

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

// nameServer is a DNS server that answers every question for an address of IPv4
// with the next of its addresses, and the last of them from then on.
func nameServer(t *testing.T, addresses ...string) (*net.Resolver, *atomic.Int64) {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	asked := &atomic.Int64{}
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = socket.WriteTo(answerTo(slices.Clone(buffer[:n]), asked, addresses), from)
		}
	}()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", socket.LocalAddr().String())
	}
	return &net.Resolver{PreferGo: true, Dial: dial}, asked
}

// answerTo makes an answer of a question: RFC 1035, section 4.1.
func answerTo(question []byte, asked *atomic.Int64, addresses []string) []byte {
	end := 12
	for question[end] != 0 {
		end += int(question[end]) + 1
	}
	end += 5 // the root, the type and the class
	kind := binary.BigEndian.Uint16(question[end-4:])
	answer := append(question[:2:2], 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0)
	answer = append(answer, question[12:end]...)
	if kind != 1 {
		return answer // no address of IPv6
	}
	answer[7] = 1
	ip := netip.MustParseAddr(addresses[min(int(asked.Add(1)), len(addresses))-1]).As4()
	answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
	return append(answer, ip[:]...)
}

// A name that resolves to this machine or to its metadata service is not asked,
// over any protocol; one that the URL itself names is.
func TestNameOfALocalAddress(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	w := serveHTTP(t, r, false, nil)
	port := w.Listener.Addr().(*net.TCPAddr).Port
	at := func(host string) string { return strings.Replace(w.repoURL(), "127.0.0.1", host, 1) }
	cases := map[string]struct {
		reason, url, resolves string
		want                  error
	}{
		"literal":         {"the URL says so itself", w.repoURL(), "10.0.0.1", nil},
		"localhost":       {"the URL says so itself", at("LOCALHOST"), "127.0.0.1", nil},
		"below localhost": {"RFC 6761 has it for this machine", at("git.localhost"), "127.0.0.1", nil},
		"loopback":        {"the name is somebody else's", at("git.example.com"), "127.0.0.1", source.ErrAddress},
		"all of loopback": {"the whole range is this machine", at("git.example.com"), "127.8.9.10", source.ErrAddress},
		"metadata":        {"of the cloud", at("git.example.com"), "169.254.169.254", source.ErrAddress},
		"other metadata":  {"of another cloud", at("git.example.com"), "100.100.100.200", source.ErrAddress},
		"unspecified":     {"it connects to this machine", at("git.example.com"), "0.0.0.0", source.ErrAddress},
		"multicast":       {"nobody's", at("git.example.com"), "224.0.0.1", source.ErrAddress},
		"local otherwise": {"localhost is loopback and nothing else", at("git.localhost"), "169.254.169.254", source.ErrAddress},
		"name like it":    {"it ends like localhost", at("notlocalhost"), "127.0.0.1", source.ErrAddress},
		"dot at the end":  {"a dot at the end is the same name", at("git.example.com."), "127.0.0.1", source.ErrAddress},
		"ssh":             {"the same over ssh", "ssh://git@git.example.com/repo", "127.0.0.1", source.ErrAddress},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			resolver, _ := nameServer(t, c.resolves)
			g := &Repository{URL: c.url, resolver: resolver}
			if strings.HasPrefix(c.url, "ssh") {
				g.SSHAuth = serveSSH(t).auth()
			}
			before := len(w.requests())
			_, err := g.Head(t.Context())
			if c.want == nil {
				if err != nil {
					t.Errorf("%s: %v", c.reason, err)
				}
				return
			}
			sources.WantError(t, err, c.want)
			if !strings.Contains(err.Error(), c.resolves) {
				t.Errorf("%v does not say what the name resolves to (port %d)", err, port)
			}
			if len(w.requests()) != before {
				t.Errorf("the server was asked: %s", c.reason)
			}
		})
	}
}

// A name that resolves to a harmless address first and to this machine later is
// found out where the connection is made.
func TestNameThatMoves(t *testing.T) {
	w := serve(t, false, http.NotFoundHandler())
	url := strings.Replace(w.repoURL(), "127.0.0.1", "git.example.com", 1)
	resolver, asked := nameServer(t, "192.0.2.1", "127.0.0.1")
	if first, err := resolver.LookupHost(t.Context(), "git.example.com"); err != nil || first[0] != "192.0.2.1" {
		t.Fatalf("the first answer is %v, %v", first, err)
	}
	_, err := (&Repository{URL: url, resolver: resolver}).Head(t.Context())
	sources.WantError(t, err, source.ErrAddress)
	if asked.Load() < 2 || len(w.requests()) != 0 {
		t.Errorf("the name was asked for %d times, the server saw %v", asked.Load(), w.requests())
	}
}

func TestLocalAddress(t *testing.T) {
	for address, local := range map[string]bool{
		"10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "fd12::1": false, "2001:db8::1": false, "100.64.0.1": false,
		"127.0.0.1": true, "::1": true, "::ffff:127.0.0.1": true, "::127.0.0.1": true, "169.254.1.1": true, "fe80::1": true, "fe80::1%eth0": true,
		"0.0.0.0": true, "0.1.2.3": true, "::": true, "224.0.0.251": true, "ff02::1": true, "255.255.255.255": true,
		"64:ff9b::a9fe:a9fe": true, "64:ff9b::a00:1": false, "2002:7f00:1::": true, "2002:a00:1::": false,
		"fd00:ec2::254": true, "168.63.129.16": true, "192.0.0.192": true,
	} {
		if got := localAddress(netip.MustParseAddr(address)); (got != "") != local {
			t.Errorf("%s is %q, want it local: %t", address, got, local)
		}
	}
}

func TestSameOrigin(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		{"https://a/x", "https://a:443/y"}:    true,
		{"https://A/x", "https://a/x"}:        true,
		{"http://a/x", "http://a:80/x"}:       true,
		{"https://a/x", "http://a/x"}:         false,
		{"http://a/x", "https://a/x"}:         false,
		{"https://a/x", "https://a:8443/x"}:   false,
		{"https://a/x", "https://b/x"}:        false,
		{"https://a/x", "https://a.b/x"}:      false,
		{"https://[::1]/x", "https://[::1]/"}: true,
	} {
		a, errA := url.Parse(pair[0])
		b, errB := url.Parse(pair[1])
		if errA != nil || errB != nil || sameOrigin(a, b) != want {
			t.Errorf("%v: want %t", pair, want)
		}
	}
}
