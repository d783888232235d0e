package push

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const password = "s3cr3t-P4ss"

// fast asks a busy registry again without a pause.
var fast = remote.Backoff{Duration: time.Millisecond, Factor: 1, Steps: 2}

// login is a keychain with one login for every registry.
type login struct{}

func (login) Resolve(authn.Resource) (authn.Authenticator, error) {
	return &authn.Basic{Username: "somebody", Password: password}, nil
}

// anImage is a layout as make image writes it, but small.
func anImage(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "image")
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	index, err := random.Index(64, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.AppendIndex(index); err != nil {
		t.Fatal(err)
	}
	return dir
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// Whatever a registry answers, what is printed is ours: it could send back the login.
func TestTroubleWithRegistries(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("somebody:" + password))
	answer := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, request *http.Request) {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			if request.URL.Path == "/v2/" && request.Header.Get("Authorization") == "" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.WriteHeader(status)
			body, _ := json.Marshal(map[string]any{"errors": []any{map[string]any{
				"code": "DENIED", "message": "\x1b[31m" + password + " " + basic, "detail": request.Header.Get("Authorization"),
			}}})
			_, _ = w.Write(body)
		}
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	untrusted := httptest.NewUnstartedServer(answer(http.StatusOK))
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	// On this machine, who does not answer by TLS in 0.3 s is asked without.
	slow := httptest.NewUnstartedServer(answer(http.StatusOK))
	slow.Config.ErrorLog = log.New(io.Discard, "", 0)
	slow.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		time.Sleep(time.Second)
		return nil, nil //nolint:nilnil // as the interface has it: the same configuration
	}}
	slow.StartTLS()
	t.Cleanup(slow.Close)
	torn := serve(t, func(w http.ResponseWriter, request *http.Request) {
		connection, _, _ := w.(http.Hijacker).Hijack()
		_, _ = io.WriteString(connection, "HTTP/1.1 200 "+request.Header.Get("Authorization")+"\x1b]0;title\a\r\nContent-Length: 99999\r\n\r\n"+password)
		connection.Close()
	})
	for reason, c := range map[string]struct {
		host     string
		keychain authn.Keychain
		says     string
	}{
		"no login":                 {serve(t, answer(http.StatusUnauthorized)), authn.NewMultiKeychain(), "wants a login (401 Unauthorized)\nrun docker login "},
		"a wrong login":            {serve(t, answer(http.StatusUnauthorized)), login{}, "does not take the login in ~/.docker/config.json (401"},
		"a login without rights":   {serve(t, answer(http.StatusForbidden)), login{}, "does not let this login push to team/nodepools (403"},
		"no such repository":       {serve(t, answer(http.StatusNotFound)), login{}, "has no team/nodepools (404"},
		"a mirror":                 {serve(t, answer(http.StatusMethodNotAllowed)), login{}, "takes no images (405"},
		"a registry in trouble":    {serve(t, answer(http.StatusInternalServerError)), login{}, "answers 500 Internal Server Error"},
		"a registry that is busy":  {serve(t, answer(http.StatusTooManyRequests)), login{}, "answers 429 Too Many Requests"},
		"nobody there":             {closed.Addr().String(), login{}, "cannot be reached: connect: connection refused\ncheck its name"},
		"no such name":             {"registry.invalid", login{}, "cannot be reached: "},
		"an unknown authority":     {strings.TrimPrefix(untrusted.URL, "https://"), login{}, "is not trusted: x509: certificate signed by unknown authority\nname the file"},
		"one that is slow":         {strings.TrimPrefix(slow.URL, "https://"), login{}, "is not trusted: x509: certificate signed by unknown authority\nname the file"},
		"an answer that is cut":    {torn, login{}, "cannot push to "},
		"a login that is not read": {serve(t, answer(http.StatusOK)), broken{}, "the credentials of "},
	} {
		t.Run(reason, func(t *testing.T) {
			_, err := Image(t.Context(), anImage(t), c.host+"/team/nodepools:v1", Options{Keychain: c.keychain, Backoff: fast})
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.host) {
				t.Fatalf("%v\nwant %q of %s", err, c.says, c.host)
			}
			for _, secret := range []string{password, basic, "\x1b", "\a"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%q is printed: %v", secret, err)
				}
			}
		})
	}
}

type broken struct{}

func (broken) Resolve(authn.Resource) (authn.Authenticator, error) {
	return nil, &os.PathError{Op: "open", Path: password, Err: os.ErrPermission}
}

// A login works, and a push of the same again.
func TestPushWithALogin(t *testing.T) {
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	host := serve(t, func(w http.ResponseWriter, request *http.Request) {
		if _, given, _ := request.BasicAuth(); given != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, request)
	})
	dir := anImage(t)
	for range 2 {
		name, err := Image(t.Context(), dir, host+"/team/nodepools:v1", Options{Keychain: login{}})
		if err != nil || !strings.HasPrefix(name, host+"/team/nodepools:v1@sha256:") {
			t.Errorf("%s, %v", name, err)
		}
	}
}

// Names that are none, and folders with no image, before anything is asked.
func TestPushRefuses(t *testing.T) {
	torn := anImage(t)
	blobs := filepath.Join(torn, "blobs", "sha256")
	if err := os.RemoveAll(blobs); err != nil {
		t.Fatal(err)
	}
	noIndex := t.TempDir()
	if err := os.WriteFile(filepath.Join(noIndex, "index.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	whole := anImage(t)
	asked := serve(t, func(http.ResponseWriter, *http.Request) {})
	for reason, c := range map[string]struct{ dir, reference, says string }{
		"nothing":                {whole, "", "no image is named"},
		"a digest":               {whole, asked + "/n@sha256:" + strings.Repeat("0", 64), "an image is pushed to a tag"},
		"a password in the name": {whole, "somebody:" + password + "@registry.example.com/n:v1", "no user"},
		"a URL":                  {whole, "https://somebody:" + password + "@registry.example.com/n:v1", "has no scheme"},
		"no registry":            {whole, "nodepools:v1", `"nodepools:v1" is not the name of an image with its registry and its tag`},
		"no tag":                 {whole, asked + "/nodepools", "with its registry and its tag"},
		"capital letters":        {whole, asked + "/NodePools:v1", "with its registry and its tag"},
		"no folder":              {filepath.Join(whole, "none"), asked + "/n:v1", "there is no image in " + filepath.Join(whole, "none") + "\nrun make image before"},
		"a folder of something":  {t.TempDir(), asked + "/n:v1", "there is no image in "},
		"an empty index":         {noIndex, asked + "/n:v1", "holds 0 images"},
		"half an image":          {torn, asked + "/n:v1", "the image in " + torn + " is not complete\nrun make image again"},
	} {
		t.Run(reason, func(t *testing.T) {
			_, err := Image(t.Context(), c.dir, c.reference, Options{Keychain: login{}, Backoff: fast})
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), password) {
				t.Errorf("%v\nwant %q", err, c.says)
			}
		})
	}
}

// Without TLS a password would be read on the way: nothing is sent to another machine
// then, wherever the request comes from, unless somebody has said so.
func TestPushKeepsToTLS(t *testing.T) {
	requests := 0
	wire := roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.URL.Scheme == "https" {
			return nil, http.ErrSchemeMismatch
		}
		requests++
		recorder := httptest.NewRecorder()
		recorder.WriteHeader(http.StatusForbidden)
		return recorder.Result(), nil
	})
	for _, c := range []struct {
		host     string
		insecure bool
		asks     bool
	}{
		{"registry.example.com", false, false},
		{"registry.example.com", true, true},
		{"10.0.0.1:5000", false, false},
		{"192.168.1.1:5000", false, false},
		{"192.168.1.1:5000", true, true},
		{"registry.local", false, false},
		{"localhost.example.com:5000", false, false},
		{"localhost:5000", false, true},
		{"127.0.0.1:5000", false, true},
	} {
		requests = 0
		_, err := Image(t.Context(), anImage(t), c.host+"/n:v1", Options{Keychain: login{}, Insecure: c.insecure, Transport: wire, Backoff: fast})
		if (requests > 0) != c.asks || err == nil {
			t.Errorf("%+v: %d requests, %v", c, requests, err)
		}
		if !c.asks && !strings.Contains(err.Error(), "would be asked without TLS") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// A registry that does not answer is not waited for when somebody has had enough.
func TestPushEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	host := serve(t, func(_ http.ResponseWriter, request *http.Request) {
		cancel()
		<-request.Context().Done()
	})
	if _, err := Image(ctx, anImage(t), host+"/n:v1", Options{Keychain: login{}}); err == nil || err.Error() != "interrupted" {
		t.Error(err)
	}
}

// The tag is set when all else is there: who pulls it before gets what it was.
func TestTagIsSetLast(t *testing.T) {
	// The images of an index are written at once, each by a connection of
	// its own.
	var mu sync.Mutex
	var writes []string
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	host := serve(t, func(w http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodPut && strings.Contains(request.URL.Path, "/manifests/") {
			mu.Lock()
			writes = append(writes, request.URL.Path[strings.LastIndex(request.URL.Path, "/")+1:])
			mu.Unlock()
		}
		inner.ServeHTTP(w, request)
	})
	dir := anImage(t)
	path, err := layout.FromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	artifact, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.AppendImage(artifact); err != nil {
		t.Fatal(err)
	}
	if _, err := Image(t.Context(), dir, host+"/n:v1", Options{Keychain: login{}}); err != nil {
		t.Fatal(err)
	}
	// Two images, their index, the artifact, the tag.
	if len(writes) != 5 || writes[4] != "v1" {
		t.Errorf("what is written is %q", writes)
	}
	for _, digest := range writes[:4] {
		if _, err := v1.NewHash(digest); err != nil {
			t.Errorf("%s is written before the tag", digest)
		}
	}
}
