package plan

import (
	"cmp"
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

func compareKeyChanges(a, b KeyChange) int {
	return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Key, b.Key))
}
