package git

import (
	"bufio"
	"io"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
)

// stream is a conversation with a git-upload-pack that runs somewhere and is
// spoken to through its standard input and output: over ssh, or on this machine.
type stream struct {
	*target
	in          io.WriteCloser
	out         *bufio.Reader
	stderr      *stderrText
	end         func() // ends the program or the connection and waits for it
	awaitStderr func() // waits, not for long, until all that was said has arrived
	once        sync.Once
}

// advertise passes over an empty line, which no server begins with that has something to
// say: Gitea prints one before it says on standard error that it refuses.
func (s *stream) advertise() (io.Reader, error) {
	if first, err := s.out.Peek(1); err == nil && first[0] == '\n' {
		_, _ = s.out.Discard(1) // it is there
	}
	return s.out, nil
}

func (s *stream) request(body []byte) (io.Reader, error) {
	if _, err := s.in.Write(body); err != nil {
		return nil, err
	}
	return s.out, nil
}

// explainEnd asks standard error why the program ended; its words are judged and
// dropped.
func (s *stream) explainEnd() error {
	s.awaitStderr()
	words := s.stderr.String()
	if words == "" {
		return errSilent
	}
	return s.explainText(words)
}

// close says to the server that nothing more is wanted, so that it does not complain in
// its log.
func (s *stream) close() {
	s.once.Do(func() {
		_, _ = s.in.Write(pktline.FlushPkt) // politeness; it may have gone
		s.end()
	})
}

// gracePeriod is how long a program has to end by itself.
const gracePeriod = 2 * time.Second

// stderrText keeps the beginning of what a program writes to standard error.
type stderrText struct {
	mu   sync.Mutex
	text []byte
}

func (l *stderrText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if free := 4096 - len(l.text); free > 0 {
		l.text = append(l.text, p[:min(free, len(p))]...)
	}
	return len(p), nil
}

func (l *stderrText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}
