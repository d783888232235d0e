package git

import (
	"io"
	"net"
	"sync/atomic"
)

// receiving counts what is read.
type receiving struct {
	io.Reader
	received *atomic.Int64
}

func (r receiving) Read(into []byte) (int, error) {
	n, err := r.Reader.Read(into)
	r.received.Add(int64(n))
	return n, err
}

// counted returns a reader of the same that counts what is read, where somebody wants to
// know.
func (r *Repository) counted(from io.Reader) io.Reader {
	if r.Received == nil {
		return from
	}
	return receiving{from, r.Received}
}

// countedConn is like [Repository.counted], for a connection.
func (r *Repository) countedConn(conn net.Conn) net.Conn {
	if r.Received == nil {
		return conn
	}
	return receivingConn{conn, r.Received}
}

// receivingConn is a connection that counts what is read.
type receivingConn struct {
	net.Conn
	received *atomic.Int64
}

func (c receivingConn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	c.received.Add(int64(n))
	return n, err
}
