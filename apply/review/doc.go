// Package review is what nodepools diff tells: one document with all that a
// change of pools does, from which every form of output is written, so that none
// of them knows more or less than the others.
//
// Start with [Of], which makes a [Review] of a plan and its impact. A review is
// deterministic, and holds no value that looks like a secret: [Of] masks them.
// All else in it is as it stands in files and in the cluster, and may have been
// written to deceive: whoever prints it makes it inert in the form that he prints.
package review
