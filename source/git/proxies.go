package git

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// proxies are those that the environment names for the requests of a conversation.
// A connection to one is distinguished from a connection to the server by its address.
type proxies struct {
	mu    sync.Mutex
	known map[string]bool
}

// of is the proxy for a request, or nil.
func (p *proxies) of(req *http.Request) (*url.URL, error) {
	proxy, err := http.ProxyFromEnvironment(req)
	if err != nil || proxy == nil {
		return proxy, err
	}
	port := proxy.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[strings.ToLower(proxy.Scheme)]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[string]bool{}
	}
	p.known[net.JoinHostPort(proxy.Hostname(), port)] = true
	return proxy, nil
}

// has reports whether a connection to host and port is one to a proxy.
func (p *proxies) has(address string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[address]
}
