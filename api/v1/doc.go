// Package v1 is the API of nodepools: what a platform engineer writes, and
// what the cluster records.
//
// [NodePool] says what the nodes of one pool carry: labels, annotations,
// taints, and the runtime handler of the RuntimeClass that leads pods there.
// [NodePoolSource] says which Git repository pools come from. Both are
// cluster-scoped, in the group nodes.lailin.xyz.
//
// Every label, annotation, finalizer, condition and reason that the project
// writes or reads is named in names.go. [ValidateNodePool] holds a pool from a
// file to the rules that the API server holds it to, so that a mistake is
// found in the pull request and not in the cluster.
//
// +kubebuilder:object:generate=true
// +groupName=nodes.lailin.xyz
package v1
