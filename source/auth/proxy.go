package auth

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/nodepools/nodepools/api/sanitize"
)

// The keys of the Secret of a proxy, beside [Username] and [Password].
const (
	Address = "address"
	NoProxy = "noProxy"
)

// proxySchemes are the kinds of proxies, by how their addresses begin.
var proxySchemes = []string{"http", "https", "socks5", "socks5h"}

// A Proxy stands between this program and servers of Git.
type Proxy struct {
	choose func(*url.URL) (*url.URL, error)
}

// ParseProxy reads a proxy from the data of a Secret. An error names the key at fault.
//
// The login goes to the address beside it, and nowhere else. So the Secret needs no
// prefix: whoever names it in a source does not choose where it is sent.
func ParseProxy(data map[string][]byte) (*Proxy, error) {
	address, err := proxyAddress(line(data[Address]))
	if err != nil {
		return nil, err
	}
	if address.User, err = proxyLogin(data, strings.HasPrefix(address.Scheme, "socks5")); err != nil {
		return nil, err
	}
	config := httpproxy.Config{HTTPProxy: address.String(), HTTPSProxy: address.String(), NoProxy: line(data[NoProxy])}
	return &Proxy{choose: config.ProxyFunc()}, nil
}

// For returns the proxy for requests to a URL of https or http, nil where none is to be
// used: for this machine, and for what noProxy names.
func (p *Proxy) For(target *url.URL) (*url.URL, error) { return p.choose(target) }

// String keeps a login out of whatever prints a proxy.
func (p *Proxy) String() string { return "proxy" }

// GoString is String, for %#v.
func (p *Proxy) GoString() string { return p.String() }

func proxyAddress(text string) (*url.URL, error) {
	if text == "" {
		return nil, missing(Address, "the URL of the proxy, such as http://proxy.example.com:3128 or socks5://proxy.example.com")
	}
	address, err := url.Parse(text)
	switch {
	case err != nil, sanitize.Line(text) != text, address.Hostname() == "", !slices.Contains(proxySchemes, address.Scheme):
		return nil, invalid(Address + " is no URL of http, https or socks5").WithHint("write it like http://proxy.example.com:3128")
	case address.Port() != "" && !isPort(address.Port()):
		return nil, invalid(Address + " has a port that is no number from 1 to 65535")
	case address.User != nil:
		return nil, invalid(Address + " has a login in it").WithHint("give it as " + Username + " and " + Password)
	case strings.Trim(address.Path, "/") != "", address.RawQuery != "", address.ForceQuery, address.Fragment != "":
		return nil, invalid(Address + " has more than a scheme, a host and a port").WithHint("write it like http://proxy.example.com:3128")
	}
	return &url.URL{Scheme: address.Scheme, Host: address.Host}, nil
}

func isPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && port > 0
}

// maxSOCKS is how long a user name and a password of SOCKS may be, in bytes:
// https://www.rfc-editor.org/rfc/rfc1929
const maxSOCKS = 255

func proxyLogin(data map[string][]byte, socks bool) (*url.Userinfo, error) {
	username, password := line(data[Username]), line(data[Password])
	switch {
	case data[Username] == nil && data[Password] == nil:
		return nil, nil
	case username == "":
		return nil, missing(Username, "that of "+Password)
	case !socks && strings.Contains(username, ":"):
		return nil, invalid(Username + " has a colon in it, which ends a user name in HTTP")
	case socks && (len(username) > maxSOCKS || len(password) > maxSOCKS || password == ""):
		return nil, invalid(Username + " and " + Password + " of a proxy of SOCKS have between 1 and 255 bytes each")
	}
	return url.UserPassword(username, password), nil
}
