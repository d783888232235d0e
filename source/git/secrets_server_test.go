package git

import (
	"bufio"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/secrets"
	"github.com/nodepools/nodepools/testdata/sources"
)

const (
	refsType = "application/x-git-upload-pack-advertisement"
	packType = "application/x-git-upload-pack-result"
)

func pkt(line string) string { return fmt.Sprintf("%04x%s", len(line)+4, line) }

// raw answers every connection by these very bytes and closes it.
func raw(words func(secret string) string) func(*testing.T, string) *Repository {
	return func(t *testing.T, secret string) *Repository {
		address := accept(t, func(conn net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.WriteString(conn, words(secret))
			}
		})
		return &Repository{URL: "http://" + address + "/repo"}
	}
}

// header answers 200 with one header more, and a body that is no Git.
func header(name string, value func(secret string) string) func(*testing.T, string) *Repository {
	return raw(func(secret string) string {
		return "HTTP/1.1 200 OK\r\nContent-Type: " + refsType + "\r\n" + name + ": " + value(secret) + "\r\nConnection: close\r\n\r\n" + secret
	})
}

func location(place string) func(*testing.T, string) *Repository {
	return raw(func(secret string) string {
		return "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + fmt.Sprintf(place, secret) + "\r\n\r\n"
	})
}

func itself(secret string) string { return secret }

var placesInHTTP = []place{
	{"reason phrase", "the status line has room for it", raw(func(secret string) string {
		return "HTTP/1.1 401 " + secret + "\r\nContent-Length: 0\r\n\r\n"
	}), source.ErrUnauthorized},
	{"status", "the parser's error repeats it", raw(func(secret string) string { return "HTTP/1.1 " + secret + "\r\n\r\n" }), source.ErrServer},
	{"protocol", "the parser's error repeats it", raw(func(secret string) string { return secret + "\r\n\r\n" }), source.ErrServer},
	{"header line", "the parser's error repeats it", raw(func(secret string) string {
		return "HTTP/1.1 200 OK\r\n" + secret + "\r\n\r\n"
	}), source.ErrServer},
	{"content type", "a page for people", header("Content-Type", itself), source.ErrServer},
	{"challenge", "what to log in to", raw(func(secret string) string {
		return "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"" + secret + "\"\r\nContent-Length: 0\r\n\r\n"
	}), source.ErrUnauthorized},
	{"cookie", "a session", header("Set-Cookie", func(secret string) string { return "session=" + secret }), source.ErrServer},
	{"compression", "said to be compressed, and is not", header("Content-Encoding", func(string) string { return "gzip" }), source.ErrServer},
	{"length", "no number", header("Content-Length", itself), source.ErrServer},
	{"transfer encoding", "an unknown one", header("Transfer-Encoding", itself), source.ErrServer},
	{"chunk", "no length of a chunk", raw(func(secret string) string {
		return "HTTP/1.1 200 OK\r\nContent-Type: " + refsType + "\r\nTransfer-Encoding: chunked\r\n\r\n" + secret + "\r\n"
	}), source.ErrServer},
	{"hint before the answer", "headers of their own", raw(func(secret string) string {
		return "HTTP/1.1 103 Early Hints\r\nLink: <" + secret + ">\r\n\r\nHTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"
	}), source.ErrServer},
	{"goodbye", "HTTP/2 lets a server say why it hangs up", goAway, source.ErrServer},

	{"redirect to a login page", "a token for the way back", location("/login?state=%s"), source.ErrRedirect},
	{"redirect to a URL with a credential", "it would be asked for", location("http://user:%s@localhost/repo/info/refs?service=git-upload-pack"), source.ErrRedirect},
	{"redirect that cannot be parsed", "the parser's error repeats it", location("http://%%zz%s"), source.ErrServer},
	{"redirect to a name", "an error of the lookup would repeat it", location("http://%s.invalid/repo/info/refs?service=git-upload-pack"), source.ErrRedirect},
	{"redirect to a folder", "the second answer is 404", func(t *testing.T, secret string) *Repository {
		w := serve(t, false, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.URL.Path, secret) {
				http.Redirect(w, r, "/"+secret+"/info/refs?service=git-upload-pack", http.StatusFound)
				return
			}
			http.NotFound(w, r)
		}))
		return &Repository{URL: w.repoURL()}
	}, source.ErrRepositoryMissing},
}

// goAway speaks HTTP/2 just long enough to hang up with a reason.
func goAway(t *testing.T, secret string) *Repository {
	certificate, authority := certify(t, func(*x509.Certificate) {})
	listener := tls.NewListener(listen(t), &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
				if _, err := io.ReadFull(conn, make([]byte, len(preface))); err != nil {
					return
				}
				frame := func(kind byte, content string) string {
					length := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
					return string(length[1:]) + string([]byte{kind, 0, 0, 0, 0, 0}) + content
				}
				_, _ = io.WriteString(conn, frame(4, "")+frame(7, "\x00\x00\x00\x00\x00\x00\x00\x0b"+secret))
				_, _ = io.Copy(io.Discard, conn)
			}()
		}
	}()
	return &Repository{URL: "https://" + listener.Addr().String() + "/repo", CABundle: authority, Timeout: 5 * time.Second}
}

// refs answers the listing of refs by a body, ofPack the request for a pack.
func refs(body func(secret string) string) func(*testing.T, string) *Repository {
	return func(t *testing.T, secret string) *Repository {
		return &Repository{URL: serve(t, false, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", refsType)
			fmt.Fprint(w, pkt("# service=git-upload-pack\n")+"0000"+body(secret))
		})).repoURL()}
	}
}

// ofPack is of version 0 of the protocol, ofPackV2 of version 2.
func ofPack(body func(secret string) string) func(*testing.T, string) *Repository {
	return packFrom(old, body)
}

func ofPackV2(body func(secret string) string) func(*testing.T, string) *Repository {
	return packFrom(func(next http.Handler) http.Handler { return next }, body)
}

func packFrom(wrap func(http.Handler) http.Handler, body func(secret string) string) func(*testing.T, string) *Repository {
	return func(t *testing.T, secret string) *Repository {
		r := sources.NewRepo(t)
		r.Commit(map[string]string{"a.yaml": "a"})
		return &Repository{URL: serveHTTP(t, r, false, func(next http.Handler) http.Handler {
			next = wrap(next)
			return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if !fetches(req) {
					next.ServeHTTP(w, req)
					return
				}
				w.Header().Set("Content-Type", packType)
				fmt.Fprint(w, body(secret))
			})
		}).repoURL()}
	}
}

// aCommit is some commit.
var aCommit = strings.Repeat("1f", 20)

var placesInGit = []place{
	{"ERR", "the protocol's own error", refs(func(secret string) string { return pkt("ERR " + secrets.Hostile(secret)) }), source.ErrServer},
	{"ERR not found", "an error that says why", refs(func(secret string) string { return pkt("ERR repository not found " + secret) }), source.ErrRepositoryMissing},
	{"ref name", "an end in the middle", refs(func(secret string) string { return pkt(aCommit + " refs/heads/" + secret + "\x00\n") }), source.ErrUnreachable},
	{"capability", "the listing is cut off after it", refs(func(secret string) string {
		return pkt(aCommit + " HEAD\x00" + secret + " symref=HEAD:refs/heads/" + secret + "\n")
	}), source.ErrUnreachable},
	{"line", "it is no ref", refs(func(secret string) string { return pkt(secret + "\n") }), source.ErrServer},
	{"length of a line", "it is no number", refs(itself), source.ErrServer},
	{"hash of another kind", "a repository with SHA-256", refs(func(secret string) string { return pkt(strings.Repeat("1f", 32) + " " + secret + "\x00\n") }), source.ErrUnsupported},

	{"ERR for a pack", "the server will not give it", ofPack(func(secret string) string { return pkt("ERR upload-pack: not our ref " + secret) }), source.ErrMoved},
	{"negotiation", "not a word of the protocol", ofPack(func(secret string) string { return pkt(secret + "\n") }), source.ErrServer},
	{"progress", "what git prints as remote:, and then nothing", ofPack(func(secret string) string {
		return "0000" + pkt("NAK\n") + pkt("\x02"+secrets.Hostile(secret)) + "0000"
	}), source.ErrServer},
	{"error channel", "an error among the pack", ofPack(func(secret string) string { return "0000" + pkt("NAK\n") + pkt("\x03"+secrets.Hostile(secret)) }), source.ErrServer},
	{"unknown channel", "there are three", ofPack(func(secret string) string { return "0000" + pkt("NAK\n") + pkt("\x09"+secret) }), source.ErrServer},
	{"pack", "it is none", ofPack(func(secret string) string { return "0000" + pkt("NAK\n") + pkt("\x01"+secret) + "0000" }), source.ErrServer},

	{"capability of version 2", "the listing is cut off after it", refs(func(secret string) string { return pkt("version 2\n") + pkt("agent="+secret+"\n") + pkt(secret+"\n") }), source.ErrUnreachable},
	{"section", "not a word of version 2", ofPackV2(func(secret string) string { return pkt(secret+"\n") + "0000" }), source.ErrServer},
	{"ERR for a pack of version 2", "the server will not give it", ofPackV2(func(secret string) string { return pkt("ERR upload-pack: not our ref " + secret) }), source.ErrMoved},
	{"shallow commit", "it is none", ofPackV2(func(secret string) string { return pkt("shallow-info\n") + pkt(secret+"\n") }), source.ErrServer},
	{"address of a pack", "it was not asked for", ofPackV2(func(secret string) string {
		return pkt("packfile-uris\n") + pkt(aCommit+" https://"+secret+"\n") + "0000"
	}), source.ErrServer},

	{"commit message", "the path is not there", func(t *testing.T, secret string) *Repository {
		r := sources.NewRepo(t)
		r.Commit(map[string]string{"a.yaml": "a"})
		r.Git("commit", "--quiet", "--amend", "--author="+secret+" <"+secret+"@example.com>", "--message="+secret)
		r.Git("tag", "--annotate", "--message="+secret, "v1.0.0")
		return &Repository{URL: r.URL(), Ref: Ref{Tag: "v1.0.0"}, Path: "nope"}
	}, source.ErrPathMissing},
	{"what git says", "an extension that it does not know, by name, on standard error", func(t *testing.T, secret string) *Repository {
		r := sources.NewRepo(t)
		r.Commit(map[string]string{"a.yaml": "a"})
		r.Git("config", "core.repositoryFormatVersion", "1")
		r.Git("config", "extensions."+strings.NewReplacer("+", "-", "=", "-").Replace(secret), "true")
		return &Repository{URL: r.URL()}
	}, source.ErrServer},
}

var placesInTLS = []place{
	{"untrusted certificate", "who signed it", withCertificate(false, func(*x509.Certificate) {}), source.ErrCertificate},
	{"certificate of another host", "its error lists the names", withCertificate(true, func(c *x509.Certificate) { c.DNSNames = c.DNSNames[1:] }), source.ErrCertificate},
	{"certificate that has expired", "the error has its subject", withCertificate(true, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) }), source.ErrCertificate},
	{"certificate that may not serve", "the error has what it is for", withCertificate(true, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageEmailProtection} }), source.ErrCertificate},
}

// withCertificate is an https server whose certificate has the secret in every
// name.
func withCertificate(trusted bool, change func(*x509.Certificate)) func(*testing.T, string) *Repository {
	return func(t *testing.T, secret string) *Repository {
		certificate, authority := certify(t, func(c *x509.Certificate) {
			c.Subject = pkix.Name{CommonName: secrets.Hostile(secret), Organization: []string{secret}, SerialNumber: secret}
			c.DNSNames = []string{"localhost", secret + ".example.com", "\x1b[31m" + secret}
			c.EmailAddresses = []string{secret + "@example.com"}
			change(c)
		})
		listener := tls.NewListener(listen(t), &tls.Config{Certificates: []tls.Certificate{certificate}})
		go func() { _ = (&http.Server{ErrorLog: quiet, ReadHeaderTimeout: time.Minute}).Serve(listener) }()
		g := &Repository{URL: strings.Replace("https://"+listener.Addr().String()+"/repo", "127.0.0.1", "localhost", 1)}
		if trusted {
			g.CABundle = authority
		}
		return g
	}
}

// certify makes a certificate for this machine that signs itself.
func certify(t *testing.T, change func(*x509.Certificate)) (tls.Certificate, []byte) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	change(template)
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
