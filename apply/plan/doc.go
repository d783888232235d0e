// Package plan decides what is to be written, and writes nothing. Every
// function is pure: what lives in the cluster and what the pools want go in,
// changes come out, the same ones in the same order for the same input. The
// applier carries the changes out, and diff prints them; neither decides
// anything, so they cannot disagree.
//
// Each object has one type that says what becomes of it, which reconcilers execute
// and which diff, explain and statuses print: [PoolOutcome] for the finalizer and the
// RuntimeClass of a pool, [NodeOutcome] for a node, [SourceOutcome] for a source,
// [RevisionOutcome] for what it applies, and [SourceDeletion] for its end.
//
// Start with [Accept], which says what nodes follow of pools, and with [Node], which holds the rule that keeps what is not ours: one
// rule for labels, annotations and taints alike (see keys.go). [RuntimeClass]
// and [Pools] do the same for the objects that are wholly ours; [Pools] also
// holds back deletions that look like an accident.
package plan
