package main

import (
	"io"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
)

// What a program prints comes in part from libraries and from servers that say what
// they like. This file makes plain text of it.

// standardLog is where the standard library logs by itself. What net/http says of
// a server that speaks before it was asked is left out: it repeats its words.
type standardLog struct{ io.Writer }

func (l standardLog) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "Unsolicited response received") {
		return len(line), nil
	}
	if _, err := io.WriteString(l.Writer, sanitize.Message(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}
