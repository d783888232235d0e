package connect

import (
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
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

// A server that accepts what is sent and says nothing is given up, before it has
// answered and in the middle; one that says a little now and then is not.
func TestSilentServersAreGivenUp(t *testing.T) {
	const silence = time.Second // a busy machine may be silent for a while itself
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
	mux.HandleFunc("/slowly", words(silence/6))
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(ended) })

	config := connectTo(server)
	config.Dial = dialing(silence)
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
