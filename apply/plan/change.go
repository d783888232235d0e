package plan

import (
	"cmp"
	"fmt"
	"regexp"
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
	// SetBy are the field managers that set that value, as the managed fields of
	// the node tell, sorted and without ours; none where they tell of nobody. At
	// most three are named. The taints of a node are one list that has one owner:
	// for a taint it is who wrote that list last, whoever put the taint there.
	SetBy []string `json:"setBy,omitempty"`
	// MoreSetBy is how many there are besides.
	MoreSetBy int `json:"moreSetBy,omitempty"`
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

// nameSetters fills in SetBy.
func (c *Conflict) nameSetters(managers []string) {
	named := min(len(managers), maxSetBy)
	c.SetBy, c.MoreSetBy = managers[:named:named], len(managers)-named
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
		ptr.Equal(c.Have, other.Have) && slices.Equal(c.SetBy, other.SetBy) && c.MoreSetBy == other.MoreSetBy &&
		slices.Equal(c.Rivals, other.Rivals) && c.MoreRivals == other.MoreRivals && c.Holder == other.Holder
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
	return fmt.Sprintf("%s %s stays %s: %s; pool %s wants %s", c.Field, c.Key, have, c.setter(), c.Pool, quote(c.Want))
}

// setter tells who set the value that stands there, as far as that is known.
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
