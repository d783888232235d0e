// Package redact finds secrets in the values of labels, annotations and taints, so
// that they are not shown to more people than the cluster is.
//
// Start with [Secret], which reports whether a value is a secret or contains one. [Text]
// removes credentials from a sentence.
//
// A secret is recognized by the name of a value (name.go), and by one list of the
// beginnings and forms of tokens (shape.go). What is encoded is not decoded.
package redact
