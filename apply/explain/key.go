package explain

import (
	"cmp"

	"github.com/nodepools/nodepools/apply/plan"
)

// Key is a label, an annotation or a taint.
type Key struct {
	Field plan.Field `json:"field"`
	Key   string     `json:"key"`
	Value *string    `json:"value,omitempty"`
	Owner plan.Owner `json:"owner"`
	Pool  string     `json:"pool,omitempty"`
	// File is the file of the later layer that set the key in the pool; empty where
	// it is of the file of the pool.
	File string `json:"file,omitempty"`
	// Recorded is the value that the pool has put there, Before the one that it
	// found there.
	Recorded *string  `json:"recorded,omitempty"`
	Before   *string  `json:"before,omitempty"`
	Adopted  bool     `json:"adopted,omitempty"`
	WantedBy []string `json:"wantedBy,omitempty"`
	SetBy    []string `json:"setBy,omitempty"`
	// Due is what is about to be done, After the value afterwards.
	Due   Due     `json:"due,omitempty"`
	After *string `json:"after,omitempty"`
	// Waits is true where the node does not follow yet what becomes of the key; Later is
	// the value that it has then, and none when it goes.
	Waits     bool     `json:"waits,omitempty"`
	Later     *string  `json:"later,omitempty"`
	Conflicts []Denial `json:"conflicts,omitempty"`
	// Contests are there where somebody else keeps changing the key.
	Contests []Contest `json:"contests,omitempty"`
	// MoreConflicts is how many pools besides do not get the key.
	MoreConflicts int `json:"moreConflicts,omitempty"`

	status plan.KeyStatus
}

// Denial is a pool that does not get a key.
type Denial struct {
	Pool    string `json:"pool"`
	Want    string `json:"want"`
	Message string `json:"message"`
}

// Contest is what the status of a pool says of a key that somebody else keeps
// changing.
type Contest struct {
	Pool string `json:"pool"`
	// Nodes is on how many nodes that is so, and Named whether this one is among those
	// that the status names. Else it may be one of the others.
	Nodes    int      `json:"nodes"`
	Named    bool     `json:"named"`
	Managers []string `json:"managers,omitempty"`
	Repairs  int      `json:"repairs"`
	Message  string   `json:"message"`
}

// Due is what is about to be done with a key.
type Due string

// What may be due. Where nothing is, it is empty.
const (
	// Add puts the key there.
	Add Due = "add"
	// Change gives it another value of the pool's.
	Change Due = "change"
	// TakeOver replaces, or adopts, somebody else's value.
	TakeOver Due = "takeOver"
	// PutBack undoes a change by hand.
	PutBack Due = "putBack"
	// Remove takes away what is no longer wanted.
	Remove Due = "remove"
	// GiveBack restores the value from before a take-over.
	GiveBack Due = "giveBack"
	// Forget takes the key out of the record. It is no longer wanted, and stays on the
	// node, owned by no pool.
	Forget Due = "forget"
	// Rerecord changes what the record says of the key, and not the key.
	Rerecord Due = "record"
)

// keyOf makes a key of what the plan reports of it.
func keyOf(status plan.KeyStatus) Key {
	k := Key{
		Field: status.Field, Key: status.Key, Value: status.Have, Owner: status.Owner, Pool: status.Pool,
		WantedBy: status.WantedBy, SetBy: status.SetBy, Due: dueOf(status),
		Waits: status.Waits, Later: status.Later, status: status,
	}
	if entry := cmp.Or(status.Recorded, status.Planned); entry != nil {
		k.Before, k.Adopted = entry.Before, entry.Adopted
	}
	if status.Recorded != nil {
		k.Recorded = &status.Recorded.Value
	}
	if k.Due != "" {
		if k.After = status.Have; status.Change != nil {
			k.After = status.Change.After
		}
	}
	for _, conflict := range status.Conflicts {
		k.Conflicts = append(k.Conflicts, Denial{Pool: conflict.Pool, Want: conflict.Want, Message: conflict.String()})
	}
	k.MoreConflicts = status.MoreConflicts
	return k
}

// dueOf returns what is about to be done with a key.
func dueOf(status plan.KeyStatus) Due {
	change := status.Change
	switch {
	case !status.Due():
		return ""
	case change == nil && status.Planned == nil:
		return Forget
	case status.Recorded == nil && status.Planned != nil && status.Planned.Before != nil:
		return TakeOver
	case change == nil:
		return Rerecord
	case change.Drift:
		return PutBack
	case status.Planned == nil && change.After != nil:
		return GiveBack
	case change.After == nil:
		return Remove
	case change.Before == nil:
		return Add
	default:
		return Change
	}
}
