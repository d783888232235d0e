package markdown

import (
	"fmt"
	"io"
	"strings"

	"github.com/nodepools/nodepools/apply/preview/review"
)

// DefaultMaxBytes is the limit of a comment on GitHub. GitHub counts
// characters, of which there are never more than bytes.
const DefaultMaxBytes = 65536

// DefaultMarker is the identity of a comment where there is only one.
const DefaultMarker = "nodepools"

// Options are how a comment is written.
type Options struct {
	// MaxBytes is how long the comment may be; 0 is DefaultMaxBytes.
	MaxBytes int
	// Marker distinguishes several comments of one pull request, such as by the
	// name of the source; empty is DefaultMarker.
	Marker string
	// Summary omits everything but the summary.
	Summary bool
	// Command is what a reader runs to see the omitted parts; empty is "nodepools diff".
	Command string
}

const hexadecimal = "0123456789ABCDEF"

// Marker returns the first line of a comment, which is not shown. A bot uses it
// to find and edit its earlier comment: equal identities have equal markers,
// and different ones different markers.
func Marker(identity string) string {
	var b strings.Builder
	for i := range len(identity) {
		switch c := identity[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("._/:", c) >= 0,
			c == '-' && i > 0 && identity[i-1] != '-': // two of them may end a comment
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hexadecimal[c>>4], hexadecimal[c&15]})
		}
	}
	return "<!-- nodepools:" + b.String() + " -->"
}

// Write writes a review as a comment, which is never longer than Options.MaxBytes:
// what does not fit is omitted, the least important first, and counted. It is an
// error when not even the summary fits; the error says how many bytes it needs.
func Write(w io.Writer, r *review.Review, o Options) error {
	if err := o.complete(); err != nil {
		return err
	}
	d := newDocument(r, o)
	d.head = append([]string{Marker(o.Marker)}, d.head...)
	comment, err := d.fit(o.MaxBytes)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, comment)
	return err
}

// complete fills in the defaults.
func (o *Options) complete() error {
	if o.MaxBytes < 0 {
		return fmt.Errorf("a comment of %d bytes cannot be written", o.MaxBytes)
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Marker == "" {
		o.Marker = DefaultMarker
	}
	if o.Command == "" {
		o.Command = "nodepools diff"
	}
	return nil
}
