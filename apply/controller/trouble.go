package controller

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// trouble is what a condition of a pool reports: why, and what it names. How far the
// pool is, and how many more there are, stands in the message alone: that changes all
// the time, and is no news.
type trouble struct {
	reason string
	named  []string
}

func (t trouble) equal(other trouble) bool {
	return t.reason == other.reason && slices.Equal(t.named, other.named)
}

// troubles are those of one pool that there are events of, by the type of the condition.
type troubles map[string]trouble

// sameTrouble reports whether a condition that an earlier process has written names what
// one names that is written now. Of that trouble nothing but the message is left.
func sameTrouble(was, is *metav1.Condition) bool {
	return was.Reason == is.Reason && namedIn(was.Message) == namedIn(is.Message)
}

// namedIn is what a message names.
func namedIn(message string) string {
	if _, rest, found := strings.Cut(message, upToDate+"; "); found {
		message = rest
	}
	message, _, _ = strings.Cut(message, andMore)
	return message
}

// listing is what a message names, and how many more it counts.
type listing struct {
	named []string
	more  int
}

// andMore parts what a message names from what it only counts.
const andMore = "; and "

func (l listing) String() string {
	text := strings.Join(l.named, "; ")
	if l.more > 0 {
		text += andMore + fmt.Sprintf("%d more", l.more)
	}
	return text
}
