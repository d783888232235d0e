package status

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/api/wrap"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// Form is how a text is to look.
type Form struct {
	// Color the text, for a terminal.
	Color bool
	// Detail shows each pool with its waves, and not a line of it.
	Detail bool
}

// WriteText writes the report for people, in lines of at most [wrap.Width] characters.
func (r *Report) WriteText(w io.Writer, form Form) error {
	var text bytes.Buffer
	if form.Detail {
		for i, pool := range r.Pools {
			if i > 0 {
				fmt.Fprintln(&text)
			}
			pool.write(&text, r.now)
		}
	} else {
		if len(r.Sources) > 0 {
			r.listSources(&text)
			fmt.Fprintln(&text)
		}
		r.list(&text)
	}
	plain := sanitize.Text(text.String())
	if form.Color {
		plain = paint(plain)
	}
	_, err := io.WriteString(w, plain)
	return err
}

// labelWidth is that of the titles before what is said of one pool.
const labelWidth = 14

// field writes a line with a title, and nothing where there is nothing to say.
func field(w io.Writer, title, text string) {
	if text == "" {
		return
	}
	first := fmt.Sprintf("%-*s", labelWidth, title+":")
	wrap.Hang(w, first, strings.Repeat(" ", labelWidth), strings.Fields(sanitize.Line(text)))
}

// write says of one pool all that there is to say.
func (p Pool) write(w io.Writer, now time.Time) {
	field(w, "Pool", review.Word(p.Name))
	field(w, "Phase", string(p.Phase)+p.since(now))
	field(w, "Reason", p.Reason)
	field(w, "Message", p.Message)
	if p.WaitsFor != p.Message {
		field(w, "Waits for", p.WaitsFor)
	}
	field(w, "Revision", p.Revision)
	field(w, "Nodes", p.Nodes.text())
	if p.Halt != nil {
		field(w, "Halted", fmt.Sprintf("%s (%s ago), with %s failed", p.Halt.Time.UTC().Format(time.RFC3339), duration.HumanDuration(now.Sub(p.Halt.Time.Time)), review.Count(int(p.Halt.Nodes), "node")))
	}
	field(w, "Pods", p.PodsStranded.text())
	field(w, "Next window", p.NextWindow.text(now))
	p.bars(w)
	if len(p.Steps) > 0 {
		fmt.Fprintln(w)
	}
	writeSteps(w, p.Steps)
}

// writeSteps writes what a person can do.
func writeSteps(w io.Writer, steps []Step) {
	for i, step := range steps {
		lead := "To "
		if i > 0 {
			lead = "Or to "
		}
		end := ":"
		if step.Command == "" {
			end = "."
		}
		wrap.Hang(w, "", "  ", strings.Fields(lead+step.Purpose+end))
		commandLine(w, step.Command)
	}
}

// since says since when the condition is as it is.
func (p Pool) since(now time.Time) string {
	if p.Since == nil || p.Since.IsZero() {
		return ""
	}
	condition := strings.ToLower(p.Condition)
	if p.Phase != Complete && p.Phase != Empty && p.Condition == "Ready" {
		condition = "not ready"
	}
	return fmt.Sprintf("; %s since %s (%s)", condition, p.Since.UTC().Format(time.RFC3339), duration.HumanDuration(now.Sub(p.Since.Time)))
}

func (n *Nodes) text() string {
	if n == nil {
		return ""
	}
	text := fmt.Sprintf("%d of %d up to date", n.Updated, n.Desired)
	if n.Ready != n.Updated {
		text += fmt.Sprintf(", %d of them ready", n.Ready)
	}
	if n.Waiting > 0 {
		text += fmt.Sprintf("; %d waiting", n.Waiting)
	}
	if n.Unavailable != nil && *n.Unavailable > 0 {
		text += fmt.Sprintf("; %d unavailable", *n.Unavailable)
	}
	if n.Settling != nil && *n.Settling > 0 {
		text += fmt.Sprintf("; %d settling", *n.Settling)
	}
	if n.Failed != nil && *n.Failed > 0 {
		text += fmt.Sprintf("; %d failed", *n.Failed)
	}
	return text
}

func (m *Moment) text(now time.Time) string {
	if m == nil {
		return ""
	}
	text := m.InZone
	if m.UTC != m.InZone {
		text += ", which is " + m.UTC
	}
	if left := m.at.Sub(now); left > 0 {
		text += ", in " + duration.HumanDuration(left)
	}
	return text
}

// commandLine writes a command so that it can be pasted, in lines that fit where it has words
// to break between.
func commandLine(w io.Writer, line string) {
	if line == "" {
		return
	}
	const indent, more = "  ", "    "
	at := indent
	for i, word := range strings.Split(line, " ") {
		switch {
		case i == 0:
			at += word
		case utf8.RuneCountInString(at)+1+utf8.RuneCountInString(word)+len(" \\") > wrap.Width && strings.TrimSpace(at) != "":
			fmt.Fprintln(w, at+" \\")
			at = more + word
		default:
			at += " " + word
		}
	}
	fmt.Fprintln(w, at)
}
