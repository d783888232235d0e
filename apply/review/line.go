package review

import "github.com/nodepools/nodepools/apply/plan"

// Line is one line of what changes in an object, or on a node.
type Line struct {
	// Sign is + for what comes, - for what goes, ~ for another value, a space for
	// what stays around it, and … for what is left out between.
	Sign rune
	Text string
}

// Lines are the lines in which an object changes, with a little of what stands
// around them; all of one that is new or goes.
func (o Object) Lines() []Line { return nil }

// Lines are what changes on the nodes, a line for each key.
func (n Nodes) Lines() []Line { return nil }

// Text says in one sentence what pools want of a key, and why they do not get it.
func (c Conflict) Text() string { return "" }

// Happened says of an action what it does to an object: "created", "changed",
// "replaced", "deleted".
func Happened(action plan.Action) string { return string(action) }
