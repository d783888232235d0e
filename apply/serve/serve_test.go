package serve

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// served returns the address of a server.
func served(t *testing.T) (address string, listener *perHost) {
	t.Helper()
	all, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := PerHost(all).(*perHost)
	server := NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return l.Addr().String(), l
}

func connected(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// ask returns the status line of the answer to a request on a connection.
func ask(conn net.Conn, request string) (string, error) {
	if _, err := io.WriteString(conn, request); err != nil {
		return "", err
	}
	return bufio.NewReader(conn).ReadString('\n')
}

// What one host keeps open is bounded, and what it closes is its own again.
func TestConnectionsOfAHost(t *testing.T) {
	address, listener := served(t)
	var open []net.Conn
	for range MaxOfHost {
		conn := connected(t, address)
		if status, err := ask(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil || !strings.Contains(status, "200") {
			t.Fatalf("answered with %q, %v", status, err)
		}
		open = append(open, conn)
	}
	if status, err := ask(connected(t, address), "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err == nil {
		t.Errorf("one connection more is answered with %q", status)
	}
	if !listener.take("another") {
		t.Error("another host is kept out")
	}
	listener.give("another")
	open[0].Close()
	cluster.Eventually(t, "one that is closed makes room", time.Minute, func() error {
		_, err := ask(connected(t, address), "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		return err
	})
	for _, conn := range open {
		conn.Close()
	}
	cluster.Eventually(t, "nothing is remembered of those that are gone", time.Minute, func() error {
		listener.mu.Lock()
		defer listener.mu.Unlock()
		if listener.open["127.0.0.1"] > 1 {
			return fmt.Errorf("%v are open", listener.open)
		}
		return nil
	})
}

// The header of a request takes little memory. That of a token of a ServiceAccount fits.
func TestHeadersAreBounded(t *testing.T) {
	address, _ := served(t)
	for size, want := range map[int]string{16 << 10: "200", 2 * MaxHeader: "431"} {
		request := "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + strings.Repeat("x", size) + "\r\n\r\n"
		if status, err := ask(connected(t, address), request); err != nil || !strings.Contains(status, want) {
			t.Errorf("a header of %d bytes is answered with %q, %v, want %s", size, status, err, want)
		}
	}
}
