package plan

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
)

// Conflict is a key of a node that one pool wants and does not get.
type Conflict struct {
	Field Field  `json:"field"`
	Key   string `json:"key"`
	// Pool that wants the key, and the value that it wants.
	Pool string `json:"pool"`
	Want string `json:"want"`
	// Have is the value that stands on the node; nil where there is none. Beside
	// Older it is the value that stands there after the write.
	Have *string `json:"have,omitempty"`
	// SetBy are the field managers that set that value, as the managed fields of
	// the node say, sorted and without ours; none where they name nobody. At
	// most three are named. The taints of a node are one list that has one owner:
	// for a taint it is who wrote that list last, whoever put the taint there.
	SetBy []string `json:"setBy,omitempty"`
	// MoreSetBy is how many there are besides.
	MoreSetBy int `json:"moreSetBy,omitempty"`
	// Older is the pool of the same priority that wants another value and was
	// created earlier; empty when that is not the reason.
	Older string `json:"older,omitempty"`
	// Holder is the pool that put the value there and holds still, because it is
	// paused or cannot be carried out; empty when that is not the reason.
	Holder string `json:"holder,omitempty"`
	// NoRoom is true where stronger pools have taken the room that pools may take of the
	// annotations of the node, with the record among them.
	NoRoom bool `json:"noRoom,omitempty"`
}

// String describes the conflict.
func (c Conflict) String() string {
	have := "unset"
	if c.Have != nil {
		have = quote(*c.Have)
	}
	wants := fmt.Sprintf("pool %s wants %s", c.Pool, quote(c.Want))
	stays := fmt.Sprintf("%s %s stays %s", c.Field, c.Key, have)
	switch {
	case c.Older != "":
		return fmt.Sprintf("%s, which is pool %s's: of pools of equal priority the older one wins; %s", stays, c.Older, wants)
	case c.Holder != "":
		return fmt.Sprintf("%s: pool %s, which has set it, is paused or in error; %s", stays, c.Holder, wants)
	case c.NoRoom:
		return fmt.Sprintf("%s: it does not fit into the %d KiB that pools may take of the annotations of a node; %s", stays, maxRoom>>10, wants)
	}
	return fmt.Sprintf("%s: %s; %s", stays, c.setter(), wants)
}

// setter reports who set the value that stands there, as far as that is known.
func (c Conflict) setter() string {
	names := make([]string, 0, len(c.SetBy)+1)
	for _, manager := range c.SetBy {
		names = append(names, ManagerName(manager))
	}
	if c.MoreSetBy > 0 {
		names = append(names, fmt.Sprintf("%d more", c.MoreSetBy))
	}
	switch {
	case len(names) == 0:
		return "somebody else has set it"
	case c.Field == Taint:
		return "somebody else has set it (" + and(names) + " wrote the taints last)"
	case len(names) == 1:
		return names[0] + " has set it"
	default:
		return and(names) + " have set it"
	}
}

// and joins words as a sentence does.
func and(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// plainManager is what the name of a field manager looks like that a program
// gives itself.
var plainManager = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:+-]{0,62}$`)

// ManagerName writes the name of a field manager so that it may stand in a text.
// Whoever writes to a node chooses it: what is no plain word is quoted, and cut.
func ManagerName(manager string) string {
	if plainManager.MatchString(manager) {
		return manager
	}
	return quote(manager)
}

// maxSetBy is how many field managers a conflict names. One is the rule; anybody
// who may write to a node can make more.
const maxSetBy = 3

// MaxQuoted bounds a value in a text, in characters; annotations may hold anything. A
// longer value is truncated by [sanitize.ClipRunes].
const MaxQuoted = 63

func quote(value string) string {
	return sanitize.Quote(sanitize.ClipRunes(value, MaxQuoted))
}
