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
	Rivals []string `json:"rivals,omitempty"`
	// Holder is the pool that put the value there and holds still, because it is
	// paused or cannot be carried out; empty when that is not the reason.
	Holder string `json:"holder,omitempty"`
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
		ptr.Equal(c.Have, other.Have) && slices.Equal(c.Rivals, other.Rivals) && c.Holder == other.Holder
}

// String tells the conflict in words.
func (c Conflict) String() string {
	have := "unset"
	if c.Have != nil {
		have = quote(*c.Have)
	}
	switch {
	case c.Holder != "":
		return fmt.Sprintf("%s %s stays %s, as pool %s, which has set it, is paused or in error: %s is wanted",
			c.Field, c.Key, have, c.Holder, quote(c.Want))
	case len(c.Rivals) == 1:
		return fmt.Sprintf("%s %s stays %s: %s is wanted, and pool %s of equal priority wants another value",
			c.Field, c.Key, have, quote(c.Want), c.Rivals[0])
	case len(c.Rivals) > 1:
		return fmt.Sprintf("%s %s stays %s: %s is wanted, and pools %s of equal priority want other values",
			c.Field, c.Key, have, quote(c.Want), strings.Join(c.Rivals, ", "))
	}
	return fmt.Sprintf("%s %s stays %s, as somebody else has set it: %s is wanted", c.Field, c.Key, have, quote(c.Want))
}

// maxQuoted bounds a value in a text; annotations may hold anything.
const maxQuoted = 63

func quote(value string) string {
	if runes := []rune(value); len(runes) > maxQuoted {
		value = string(runes[:maxQuoted-1]) + "…"
	}
	return strconv.Quote(value)
}
