// Package proxies has proxies of HTTP and of SOCKS 5 for tests. They connect to this
// machine alone, whatever names they are asked for.
package proxies

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// A Proxy connects the names that it knows.
type Proxy struct {
	// Address is where it listens, as host and port.
	Address string
	// Username and Password are what it wants; no login where Username is empty.
	Username, Password string
	// Servers are what it connects to, by the host and the port that it is asked for.
	// It refuses any other.
	Servers map[string]string

	mu    sync.Mutex
	asked []string
}

// Asked returns what the proxy was asked to connect to so far, refused or not, without
// the requests whose login it did not take.
func (p *Proxy) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// server notes that an address was asked for, and returns what it stands for.
func (p *Proxy) server(asked string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, asked)
	server, known := p.Servers[asked]
	return server, known
}

// HTTP starts a proxy of http, or of https where there is a certificate. It ends with
// the test.
func HTTP(t testing.TB, p *Proxy, certificate *tls.Certificate) *Proxy {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(p.serveHTTP))
	if certificate != nil {
		server.TLS = &tls.Config{Certificates: []tls.Certificate{*certificate}}
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	p.Address = server.Listener.Addr().String()
	return p
}

func (p *Proxy) serveHTTP(w http.ResponseWriter, r *http.Request) {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.Username+":"+p.Password))
	if got := r.Header.Get("Proxy-Authorization"); p.Username != "" && got != want {
		w.Header().Set("Proxy-Authenticate", "Basic")
		http.Error(w, "not with "+got, http.StatusProxyAuthRequired)
		return
	}
	asked := r.Host
	if _, _, err := net.SplitHostPort(asked); err != nil {
		asked = net.JoinHostPort(asked, "80")
	}
	server, known := p.server(asked)
	switch {
	case !known:
		http.Error(w, "not to "+asked, http.StatusForbidden)
	case r.Method == http.MethodConnect:
		p.serveTunnel(w, server)
	default:
		forward(w, r, server)
	}
}

func (p *Proxy) serveTunnel(w http.ResponseWriter, server string) {
	onward, err := net.Dial("tcp", server)
	if err != nil {
		http.Error(w, "no connection", http.StatusBadGateway)
		return
	}
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = onward.Close()
		return
	}
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err == nil {
		join(client, onward)
	}
}

func forward(w http.ResponseWriter, r *http.Request, server string) {
	r = r.Clone(r.Context())
	r.URL.Host, r.RequestURI = server, ""
	r.Header.Del("Proxy-Authorization")
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		http.Error(w, "no connection", http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body)
}

// join copies in both directions until one ends.
func join(a, b net.Conn) {
	var ended sync.WaitGroup
	for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
		ended.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			_, _ = a.Close(), b.Close()
		})
	}
	ended.Wait()
}

// SOCKS starts a proxy of SOCKS 5. It ends with the test.
func SOCKS(t testing.TB, p *Proxy) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.Address = listener.Addr().String()
	var open sync.Map
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			open.Store(client, true)
			ended.Go(func() {
				defer open.Delete(client)
				_, _ = p.serveSOCKS(client), client.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		open.Range(func(client, _ any) bool { return client.(net.Conn).Close() == nil || true })
		ended.Wait()
	})
	return p
}

// The answers of SOCKS: https://www.rfc-editor.org/rfc/rfc1928
const (
	socksOK         = 0
	socksNotAllowed = 2
	socksRefused    = 5
)

func (p *Proxy) serveSOCKS(client net.Conn) error {
	in := bufio.NewReader(client)
	if err := p.greet(in, client); err != nil {
		return err
	}
	asked, err := readAddress(in)
	if err != nil {
		return err
	}
	answer := func(code byte) error {
		_, err := client.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0})
		return err
	}
	server, known := p.server(asked)
	if !known {
		return answer(socksNotAllowed)
	}
	onward, err := net.Dial("tcp", server)
	if err != nil {
		return answer(socksRefused)
	}
	if err := answer(socksOK); err != nil {
		_ = onward.Close()
		return err
	}
	join(client, onward)
	return nil
}

// greet agrees on a way to log in, and lets the client log in.
func (p *Proxy) greet(in *bufio.Reader, out io.Writer) error {
	head := make([]byte, 2)
	if _, err := io.ReadFull(in, head); err != nil {
		return err
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(in, methods); err != nil {
		return err
	}
	method := byte(0)
	if p.Username != "" {
		method = 2
	}
	if !slices.Contains(methods, method) {
		method = 0xff
	}
	if _, err := out.Write([]byte{5, method}); err != nil || method == 0 {
		return err
	}
	if method == 0xff {
		return errors.New("no way to log in")
	}
	if _, err := in.ReadByte(); err != nil { // the version
		return err
	}
	username, err := readText(in)
	if err != nil {
		return err
	}
	password, err := readText(in)
	if err != nil {
		return err
	}
	if username != p.Username || password != p.Password {
		_, _ = out.Write([]byte{1, 1})
		return errors.New("not with this login")
	}
	_, err = out.Write([]byte{1, 0})
	return err
}

func readText(in *bufio.Reader) (string, error) {
	length, err := in.ReadByte()
	if err != nil {
		return "", err
	}
	text := make([]byte, length)
	_, err = io.ReadFull(in, text)
	return string(text), err
}

// readAddress reads what the client wants to connect to, which is a name.
func readAddress(in *bufio.Reader) (string, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(in, head); err != nil {
		return "", err
	}
	if head[3] != 3 {
		return "", errors.New("not a name")
	}
	host, err := readText(in)
	if err != nil {
		return "", err
	}
	var port uint16
	err = binary.Read(in, binary.BigEndian, &port)
	return net.JoinHostPort(host, strconv.Itoa(int(port))), err
}
