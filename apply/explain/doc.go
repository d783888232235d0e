// Package explain shows who owns each label, annotation and taint of a node, and why:
// which pool has set it, what is in conflict, what was taken over, and what the
// controller would write next. Start with [Node], which makes an [Explanation] of a
// node and the pools of its cluster by the plan that the controller follows.
// [Explanation.WriteText] prints it for people; its fields are what programs get.
//
// An explanation holds what is in the cluster, which may have been written to deceive.
// The text form is safe to print to a terminal; whoever prints the fields escapes them.
package explain
