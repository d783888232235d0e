package pools

import (
	"fmt"
	"slices"
	"strings"
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

// listing is what a message names, and how many more it counts.
type listing struct {
	named []string
	more  int
}

func (l listing) String() string {
	text := strings.Join(l.named, "; ")
	if l.more > 0 {
		text += fmt.Sprintf("; and %d more", l.more)
	}
	return text
}
