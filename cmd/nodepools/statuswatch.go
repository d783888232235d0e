package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/status"
)

// watchPeriod is how often a cluster is read while it is watched. Reading it takes a tenth
// of the time at most, however many nodes there are.
const watchPeriod = 2 * time.Second

// follow shows the status whenever it has changed, until all nodes have followed, or a
// pool is halted or stalled. A cluster that does not answer for a while is asked again,
// for as long as one answer may take.
func (o *statusOptions) follow(ctx context.Context, std streams, read progressReader) error {
	screen := o.screen(std.out)
	var answered time.Time
	for {
		began := o.now()
		report, err := o.read(ctx, std, read)
		switch {
		case err == nil:
			answered = began
			if err := screen.show(report); err != nil {
				return err
			}
			if report.Failed() || report.Complete() {
				return statusOutcome(report)
			}
		case answered.IsZero() || permanent(err) || o.now().Sub(answered) > o.cluster.timeout:
			return err
		default:
			o.note(std, "asking again: "+err.Error())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(o.period, 9*o.now().Sub(began))):
		}
	}
}

// permanent reports whether asking again gives the same error.
func permanent(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || errors.As(err, new(*observe.NoPoolError))
}

// screen is what a status is shown on again and again.
type screen interface {
	show(report *status.Report) error
}

func (o *statusOptions) screen(out io.Writer) screen {
	if file, isFile := out.(*os.File); isFile && isTerminal(out) {
		return &terminalScreen{out: out, write: func(w io.Writer, report *status.Report) error {
			return o.writeText(w, report, takesColor(out))
		}, size: func() (width, height int) {
			width, height, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 0, 0
			}
			return width, height
		}}
	}
	return &lineScreen{out: out, shown: map[string]string{}}
}

// lineScreen prints a line for each source and each pool that has changed.
type lineScreen struct {
	out   io.Writer
	shown map[string]string
}

func (s *lineScreen) show(report *status.Report) error {
	for _, source := range report.Sources {
		if err := s.line("source/"+source.Name, source.Line()); err != nil {
			return err
		}
	}
	for _, pool := range report.Pools {
		if err := s.line(pool.Name, pool.Line()); err != nil {
			return err
		}
	}
	return nil
}

// line prints the line of an object where it has changed.
func (s *lineScreen) line(object, line string) error {
	if s.shown[object] == line {
		return nil
	}
	s.shown[object] = line
	_, err := fmt.Fprintln(s.out, line)
	return err
}

// terminalScreen draws a status in place of the one before. It leaves the cursor below, so
// that nothing has to be put right when the command is interrupted.
type terminalScreen struct {
	out   io.Writer
	write func(io.Writer, *status.Report) error
	// size is 0 where it is not known.
	size func() (width, height int)

	shown string
	rows  int
}

func (s *terminalScreen) show(report *status.Report) error {
	var text bytes.Buffer
	if err := s.write(&text, report); err != nil {
		return err
	}
	width, height := s.size()
	drawn, rows := fitted(text.String(), width, height)
	if drawn == s.shown {
		return nil
	}
	again := ""
	if s.rows > 0 {
		again = fmt.Sprintf("\x1b[%dA\x1b[J", s.rows)
	}
	s.shown, s.rows = drawn, rows
	_, err := io.WriteString(s.out, again+drawn)
	return err
}

// fitted is a text without the lines for which a terminal has no place, as what has been
// scrolled away cannot be drawn again, and how many rows it takes.
func fitted(text string, width, height int) (drawn string, rows int) {
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1]
	for i, line := range lines {
		takes := rowsOf(line, width)
		if left := len(lines) - i; height >= 3 && rows+takes > height-2 && left > 1 {
			return drawn + fmt.Sprintf("(%d more lines)\n", left), rows + 1
		}
		drawn, rows = drawn+line, rows+takes
	}
	return drawn, rows
}

var colorCode = regexp.MustCompile("\x1b\\[[0-9;]*m")

// rowsOf is how many rows of a terminal a line takes.
func rowsOf(line string, width int) int {
	if width <= 0 {
		return 1
	}
	visible := utf8.RuneCountInString(strings.TrimSuffix(colorCode.ReplaceAllString(line, ""), "\n"))
	return max(1, (visible+width-1)/width)
}
