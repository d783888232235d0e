package sanitize

import (
	"bytes"
	"io"
	"sync"
)

// Writer writes whole lines to another writer, each sanitized by [Text]: a
// command to a CI runner is recognized by how its line begins. It may be used
// by several goroutines.
type Writer struct {
	mu    sync.Mutex
	to    io.Writer
	begun []byte // a line that has not ended
}

// NewWriter returns a Writer that sanitizes a stream. [Writer.Flush] must be
// called at the end.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// maxLine bounds the buffer for a line that does not end, in bytes.
const maxLine = 1 << 20

// Write accepts all of the text; an unfinished line is written later.
func (w *Writer) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun = append(w.begun, text...)
	end := bytes.LastIndexByte(w.begun, '\n') + 1
	if end == 0 && len(w.begun) > maxLine {
		end = len(w.begun)
	}
	if end > 0 {
		lines := string(w.begun[:end])
		w.begun = append(w.begun[:0], w.begun[end:]...)
		if _, err := io.WriteString(w.to, Text(lines)); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}

// Flush writes the unfinished line.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := string(w.begun)
	w.begun = nil
	_, err := io.WriteString(w.to, Text(lines))
	return err
}
