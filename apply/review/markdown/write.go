package markdown

import (
	"fmt"
	"io"
	"strings"

	"github.com/nodepools/nodepools/apply/review"
)

// DefaultMaxBytes is what a comment on GitHub holds. It counts characters, of which
// there are never more than bytes.
const DefaultMaxBytes = 65536

// DefaultMarker is the identity of a comment where there is one only.
const DefaultMarker = "nodepools"

// Options are how a comment is written.
type Options struct {
	// MaxBytes is how long the comment may be; 0 is DefaultMaxBytes.
	MaxBytes int
	// Marker tells several comments of one pull request apart, such as by the name
	// of the source; empty is DefaultMarker.
	Marker string
	// Summary leaves out all but the summary.
	Summary bool
	// Command is what a reader runs to see what is cut; empty is "nodepools diff".
	Command string
}

const hexadecimal = "0123456789ABCDEF"

// Marker is the first line of a comment, which is not shown. By it a bot finds the
// comment that it has written before, and edits it: it is the same for the same
// identity, and different for each other.
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
// what does not fit is left out from the least important end, and counted. It is an
// error when not even the summary fits; the error says how many bytes it takes.
func Write(w io.Writer, r *review.Review, o Options) error {
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
	comment, err := newDocument(r, o).fit(o.MaxBytes)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, comment)
	return err
}
