package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/nodepools/nodepools/api/wrap"
)

// terminal prints the story. Its words are set apart from what commands print by
// colour where there is colour, and by the $ in front of commands where not.
type terminal struct {
	out      io.Writer
	coloured bool
}

func newTerminal(out *os.File) *terminal {
	info, err := out.Stat()
	isTerminal := err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	return &terminal{out: out, coloured: isTerminal && os.Getenv("NO_COLOR") == ""}
}

const (
	bold = "1"
	cyan = "36"
)

func (t *terminal) style(code, text string) string {
	if !t.coloured {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// title begins a chapter.
func (t *terminal) title(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Fprintf(t.out, "\n%s\n%s\n", t.style(bold, text), strings.Repeat("-", len(text)))
}

// text prints something, in lines that fit a terminal.
func (t *terminal) text(format string, args ...any) {
	fmt.Fprintln(t.out)
	wrap.Hang(t.out, "", "", strings.Fields(fmt.Sprintf(format, args...)))
}

// command shows what a user types.
func (t *terminal) command(line string) {
	fmt.Fprintf(t.out, "\n%s\n", t.style(cyan, "$ "+line))
}

// output shows what a command printed; with most above 0, no more lines of it.
func (t *terminal) output(text string, most int) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if left := len(lines) - most; most > 0 && left > 0 {
		lines = append(lines[:most], fmt.Sprintf("(and %d more lines)", left))
	}
	if text != "" {
		fmt.Fprintln(t.out, strings.Join(lines, "\n"))
	}
}
