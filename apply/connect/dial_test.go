package connect

import (
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller"
)

// connectTo is how nodepools connects to a server that speaks TLS.
func connectTo(server *httptest.Server) *rest.Config {
	return Tuned(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}})
}

func httpClient(t *testing.T, config *rest.Config) *http.Client {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(client.Transport) })
	return client
}

// A controller that asks for no more at once than connections are kept for opens one
// for each request, once, and keeps them; one that asks for more shares one.
func TestConnectionsAreKept(t *testing.T) {
	for _, test := range []struct {
		reason         string
		atOnce, opened int
	}{
		{"as many as by default", controller.DefaultConcurrency + apply.PoolsAtOnce, controller.DefaultConcurrency + apply.PoolsAtOnce},
		{"as many as are kept", keptConnections, keptConnections},
		{"one more", keptConnections + 1, 1},
	} {
		t.Run(test.reason, func(t *testing.T) {
			arrived, answer := make(chan struct{}), make(chan struct{})
			var opened atomic.Int32
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				arrived <- struct{}{}
				<-answer // when all have arrived
			}))
			server.EnableHTTP2 = true
			server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					opened.Add(1)
				}
			}
			server.StartTLS()
			t.Cleanup(server.Close)

			config := connectTo(server)
			OnePerRequest(config, test.atOnce)
			client := httpClient(t, config)
			ask := func(count int) {
				answered := make(chan error, count)
				for range count {
					go func() {
						response, err := client.Get(server.URL)
						if err == nil {
							err = response.Body.Close()
						}
						answered <- err
					}()
				}
				for range count {
					select {
					case <-arrived:
					case err := <-answered:
						t.Fatalf("a request has not arrived: %v", err)
					}
				}
				for range count {
					answer <- struct{}{}
				}
				for range count {
					if err := <-answered; err != nil {
						t.Error(err)
					}
				}
			}
			ask(1) // by then it is known what the server speaks
			for range 3 {
				ask(test.atOnce)
				if got := int(opened.Load()); got != test.opened {
					t.Fatalf("%d requests at once opened %d connections, want %d", test.atOnce, got, test.opened)
				}
			}
		})
	}
}

// A server that accepts what is sent and says nothing is given up, before it has
// answered and in the middle; one that says a little now and then is not.
func TestSilentServersAreGivenUp(t *testing.T) {
	const silence = 300 * time.Millisecond
	ended := make(chan struct{})
	words := func(pause time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for range 8 {
				if _, err := io.WriteString(w, "word\n"); err != nil {
					return
				}
				if err := http.NewResponseController(w).Flush(); err != nil {
					return
				}
				select {
				case <-time.After(pause):
				case <-ended:
				}
			}
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/never", func(http.ResponseWriter, *http.Request) { <-ended })
	mux.HandleFunc("/once", words(time.Hour))
	mux.HandleFunc("/slowly", words(silence/4))
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(ended) })

	config := connectTo(server)
	config.Dial = dialing(silence)
	OnePerRequest(config, 1)
	client := httpClient(t, config)
	read := func(path string) (string, error) {
		response, err := client.Get(server.URL + path)
		if err != nil {
			return "", err
		}
		said, err := io.ReadAll(response.Body)
		return string(said), errors.Join(err, response.Body.Close())
	}
	timedOut := func(err error) bool {
		var netError net.Error
		return errors.As(err, &netError) && netError.Timeout()
	}
	if _, err := read("/never"); !timedOut(err) {
		t.Errorf("no answer: %v, want a timeout", err)
	}
	if said, err := read("/once"); said != "word\n" || !timedOut(err) {
		t.Errorf("silent after a word: %q, %v, want a timeout", said, err)
	}
	if said, err := read("/slowly"); said != strings.Repeat("word\n", 8) || err != nil {
		t.Errorf("never silent for long: %q, %v", said, err)
	}
}

// A server may close a kept connection at the very moment in which it is used. What
// was sent there is sent once more; what a new connection does not answer is an error.
func TestRequestsOnClosedConnectionsAreRepeated(t *testing.T) {
	var drop atomic.Bool
	var bodies []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if key, sent := r.Header["Idempotency-Key"]; sent {
			t.Errorf("the API server is sent a header that it does not know: %q", key)
		}
		bodies = append(bodies, string(body))
		if !drop.CompareAndSwap(true, false) {
			return
		}
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = connection.Close()
	}))
	t.Cleanup(server.Close)
	config := connectTo(server)
	OnePerRequest(config, 1)
	client := httpClient(t, config)
	patch := func(body string) error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, server.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	if err := patch("first"); err != nil {
		t.Fatal(err)
	}
	drop.Store(true)
	if err := patch("second"); err != nil {
		t.Errorf("the connection was closed meanwhile: %v", err)
	}
	utilnet.CloseIdleConnectionsFor(client.Transport)
	drop.Store(true)
	if err := patch("third"); err == nil {
		t.Error("a server that closes a new connection was asked again")
	}
	if got := strings.Join(bodies, " "); got != "first second second third" {
		t.Errorf("it was sent %q", got)
	}
}
