package git

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
)

// packet is a kind of packet line:
// https://git-scm.com/docs/protocol-v2#_packet_line_framing
type packet int

const (
	dataPacket packet = iota
	flushPacket
	delimiterPacket
)

// packets reads packet lines of protocol version 2, one by one and nothing beyond them:
// what follows may be a pack. The reader of go-git knows no delimiter.
type packets struct {
	from   io.Reader
	header [4]byte
	buffer []byte
}

// next returns the next packet line, less the end of the line. The text is valid until the
// call after that. An error that the server has sent is a *[pktline.ErrorLine].
func (p *packets) next() (packet, string, error) {
	if _, err := io.ReadFull(p.from, p.header[:]); err != nil {
		return 0, "", err // io.EOF where nothing was sent at all
	}
	size, err := strconv.ParseUint(string(p.header[:]), 16, 16)
	if err != nil {
		return 0, "", errGarbled
	}
	switch {
	case size == 0:
		return flushPacket, "", nil
	case size == 1:
		return delimiterPacket, "", nil
	case size <= 4 || size > pktline.OversizePayloadMax+4:
		return 0, "", errGarbled
	}
	if size -= 4; uint64(cap(p.buffer)) < size {
		p.buffer = make([]byte, size)
	}
	line := p.buffer[:size]
	if _, err := io.ReadFull(p.from, line); err != nil {
		return 0, "", broken(ignoreEOF(err))
	}
	text := string(bytes.TrimSuffix(line, []byte("\n")))
	if said, failed := strings.CutPrefix(text, "ERR "); failed {
		return 0, "", &pktline.ErrorLine{Text: said}
	}
	return dataPacket, text, nil
}

// ignoreEOF is nil for an end of the stream, which is in the middle of a line here.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// command is a request of protocol version 2 while it is written.
type command struct{ bytes.Buffer }

// newCommand begins a command, with the capabilities of which the server has to know.
func newCommand(name string, server *advertisement) *command {
	c := &command{}
	c.line("command=" + name)
	if server.offers("agent") {
		c.line("agent=" + agent)
	}
	if server.offers("object-format") {
		c.line("object-format=sha1")
	}
	c.WriteString("0001")
	return c
}

// line adds a line, which is short.
func (c *command) line(text string) {
	size := strconv.FormatInt(int64(len(text)+5), 16)
	c.WriteString(strings.Repeat("0", 4-len(size)) + size + text + "\n")
}

// end ends the command.
func (c *command) end() []byte {
	c.WriteString("0000")
	return c.Bytes()
}
