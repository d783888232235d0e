package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"
)

// Action is what happens to an object.
type Action string

// The actions. None means that the object is as it shall be.
const (
	None   Action = ""
	Create Action = "create"
	Update Action = "update"
	// Replace is delete and create, where a field cannot be changed in place.
	Replace Action = "replace"
	Delete  Action = "delete"
)

// Field is where on a node a key stands.
type Field string

// The fields of a node that pools write.
const (
	Label      Field = "label"
	Annotation Field = "annotation"
	Taint      Field = "taint"
)

// KeyChange is the change of one key of a node.
type KeyChange struct {
	Field Field `json:"field"`
	// Key of the label or annotation; key:effect of a taint.
	Key string `json:"key"`
	// Before and After are the values; nil where there is none.
	Before *string `json:"before,omitempty"`
	After  *string `json:"after,omitempty"`
	// Pool that the change is made for.
	Pool string `json:"pool"`
	// Drift is true when somebody changed by hand what the pool had put there,
	// and the change puts it back.
	Drift bool `json:"drift,omitempty"`
}

// Conflict is a key of a node that pools want and do not get.
type Conflict struct {
	Field Field  `json:"field"`
	Key   string `json:"key"`
	// Pool that wants the key, and the value that it wants.
	Pool string `json:"pool"`
	Want string `json:"want"`
	// Have is the value that stands on the node; nil where there is none, which
	// happens only between pools.
	Have *string `json:"have,omitempty"`
	// Rivals are the pools of the same priority that want another value; none
	// when the value on the node is somebody else's.
	// At most three are named.
	Rivals []Rival `json:"rivals,omitempty"`
	// MoreRivals is how many there are besides.
	MoreRivals int `json:"moreRivals,omitempty"`
	// Holder is the pool that put the value there and holds still, because it is
	// paused or cannot be carried out; empty when that is not the reason.
	Holder string `json:"holder,omitempty"`
}

// Rival is a pool that wants another value for the same key.
type Rival struct {
	Pool  string `json:"pool"`
	Value string `json:"value"`
}

func (c *Conflict) addRival(rival Rival) {
	if len(c.Rivals) == maxRivals {
		c.MoreRivals++
		return
	}
	c.Rivals = append(c.Rivals, rival)
}

func compareKeyChanges(a, b KeyChange) int {
	return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Key, b.Key))
}

func compareConflicts(a, b Conflict) int {
	return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Pool, b.Pool))
}

// Equal tells whether two conflicts say the same.
func (c Conflict) Equal(other Conflict) bool {
	return c.Field == other.Field && c.Key == other.Key && c.Pool == other.Pool && c.Want == other.Want &&
		ptr.Equal(c.Have, other.Have) && slices.Equal(c.Rivals, other.Rivals) && c.MoreRivals == other.MoreRivals && c.Holder == other.Holder
}

// String tells the conflict in words.
func (c Conflict) String() string {
	have := "unset"
	if c.Have != nil {
		have = quote(*c.Have)
	}
	switch {
	case c.Holder != "":
		return fmt.Sprintf("%s %s stays %s: pool %s, which has set it, is paused or in error; pool %s wants %s",
			c.Field, c.Key, have, c.Holder, c.Pool, quote(c.Want))
	case len(c.Rivals) > 0:
		wants := make([]string, 0, len(c.Rivals))
		for _, rival := range c.Rivals {
			wants = append(wants, fmt.Sprintf("pool %s %s", rival.Pool, quote(rival.Value)))
		}
		if c.MoreRivals > 0 {
			wants = append(wants, fmt.Sprintf("and %d more want others", c.MoreRivals))
		}
		return fmt.Sprintf("%s %s stays %s: pools of equal priority disagree, pool %s wants %s, %s",
			c.Field, c.Key, have, c.Pool, quote(c.Want), strings.Join(wants, ", "))
	}
	return fmt.Sprintf("%s %s stays %s: somebody else has set it; pool %s wants %s", c.Field, c.Key, have, c.Pool, quote(c.Want))
}

// maxRivals is how many rivals a conflict names. Hundreds of pools may want one
// key of thousands of nodes, and all of that is kept.
const maxRivals = 3

// maxQuoted bounds a value in a text; annotations may hold anything.
const maxQuoted = 63

func quote(value string) string {
	if runes := []rune(value); len(runes) > maxQuoted {
		value = string(runes[:maxQuoted-1]) + "…"
	}
	return strconv.Quote(value)
}
