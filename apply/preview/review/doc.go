// Package review has the result of nodepools diff: one document with everything
// that a change of pools does. All forms of output are written from it, so that
// none shows more or less than the others.
//
// Start with [Of], which makes a [Review] from a plan and its impact. A review
// is deterministic, and has no value that looks like a secret: [Of] masks them.
// All other texts are those of files and of the cluster, and may have been
// written to deceive: each writer sanitizes them for its format.
package review
