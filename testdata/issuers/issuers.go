// Package issuers emulates, for tests, the servers that issue tokens and the Git servers
// that take them: GitHub, Microsoft Entra with Azure DevOps, and STS with CodeCommit of
// AWS. It speaks their published protocols as a server, and shares no code with what asks
// it: signatures and forms are verified by what is written here. Start with [New].
package issuers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// The names under which a server is known, by a proxy.
const (
	GitHubAPI  = "api.github.com"
	GitHubHost = "github.com"
	Entra      = "login.microsoftonline.com"
	AzureHost  = "dev.azure.com"
	Region     = "eu-central-1"
	STS        = "sts." + Region + ".amazonaws.com"
	CodeCommit = "git-codecommit." + Region + ".amazonaws.com"
)

// A Server is all of these at once: which it is depends on the name that it is asked by.
// By its address it is a GitHub of one's own.
type Server struct {
	*httptest.Server

	mu sync.Mutex
	// Fields below are changed by Change.

	// Now is the clock of the server.
	Now func() time.Time
	// Life is how long its tokens last.
	Life time.Duration
	// Fault answers what asks for a token, if it is not nil.
	Fault http.HandlerFunc
	// App, Azure and AWS are who gets tokens.
	App   App
	Azure AzureIdentity
	AWS   AWSIdentity
	// Git serves repositories to those whose token it is; the path begins with the
	// name of the repository.
	Git http.Handler

	asked  []string
	tokens map[string]*issued
}

// issued is a token.
type issued struct {
	expires    time.Time
	repository string // empty for all
	secret     string // of AWS
}

// New starts a server. It ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{Now: time.Now, Life: time.Hour, tokens: map[string]*issued{}}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certify(t)}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// Change changes what the server knows.
func (s *Server) Change(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// CA is the authority that signed the server's certificate, in PEM form.
func (s *Server) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.TLS.Certificates[0].Certificate[0]})
}

// Names are the addresses of the server, for a proxy.
func (s *Server) Names() map[string]string {
	names := map[string]string{}
	for _, name := range []string{GitHubAPI, GitHubHost, Entra, AzureHost, STS, CodeCommit} {
		names[name+":443"] = s.Listener.Addr().String()
	}
	return names
}

// Asked are the requests for tokens so far.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.asked...)
}

// Revoke ends every token that was issued so far.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// Tokens are those that were issued, and their secrets.
func (s *Server) Tokens() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for text, token := range s.tokens {
		all = append(all, text)
		if token.secret != "" {
			all = append(all, token.secret)
		}
	}
	return all
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	s.mu.Lock()
	w.Header().Set("Date", s.Now().UTC().Format(http.TimeFormat))
	s.mu.Unlock()
	switch {
	case host == GitHubAPI:
		s.issue(w, r, s.serveGitHub)
	case net.ParseIP(host) != nil && strings.HasPrefix(r.URL.Path, "/api/v3/"):
		s.issue(w, r, http.StripPrefix("/api/v3", http.HandlerFunc(s.serveGitHub)).ServeHTTP)
	case host == Entra:
		s.issue(w, r, s.serveEntra)
	case host == STS:
		s.issue(w, r, s.serveSTS)
	case host == AzureHost:
		s.serveGit(w, r, s.takesBearer)
	case host == CodeCommit:
		s.serveGit(w, r, s.takesSignature)
	default:
		s.serveGit(w, r, s.takesAccessToken)
	}
}

// issue serves what asks for tokens.
func (s *Server) issue(w http.ResponseWriter, r *http.Request, serve http.HandlerFunc) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.Host+r.URL.Path)
	fault := s.Fault
	s.mu.Unlock()
	if fault != nil {
		fault(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	serve(w, r)
}

// serveGit serves a repository to who has a token.
func (s *Server) serveGit(w http.ResponseWriter, r *http.Request, takes func(*http.Request) bool) {
	s.mu.Lock()
	taken, git := takes(r), s.Git
	s.mu.Unlock()
	if !taken || git == nil {
		http.Error(w, "no: "+r.Header.Get("Authorization"), http.StatusUnauthorized)
		return
	}
	// What is before the name of the repository is the owner, or the project.
	path := strings.TrimSuffix(strings.TrimSuffix(r.URL.Path, "/info/refs"), "/git-upload-pack")
	http.StripPrefix(path[:max(strings.LastIndex(path, "/"), 0)], git).ServeHTTP(w, r)
}

// keep makes a token, which begins in some way. The lock is held.
func (s *Server) keep(prefix, repository, secret string) (text string, expires time.Time) {
	text, expires = prefix+random(), s.Now().Add(s.Life)
	s.tokens[text] = &issued{expires: expires, repository: repository, secret: secret}
	return text, expires
}

// known is a token that has not expired, or nil. The lock is held.
func (s *Server) known(text string) *issued {
	if token := s.tokens[text]; token != nil && s.Now().Before(token.expires) {
		return token
	}
	return nil
}

func random() string {
	bytes := make([]byte, 20)
	_, _ = rand.Read(bytes) // it never fails
	return hex.EncodeToString(bytes)
}

func answerJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// certify makes a certificate for all names that signs itself.
func certify(t testing.TB) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "issuers"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames:    []string{GitHubAPI, GitHubHost, Entra, AzureHost, STS, CodeCommit, "localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
