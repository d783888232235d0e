// Package redact finds secrets in the values of labels, annotations and taints, so
// that they are not shown to more people than the cluster is.
//
// Start with [Finder.Secret], which reports whether a value is one or has one in
// it, wherever: within JSON or YAML, a command line, a URL, or base64. It answers
// for the value as a whole, as a reader who is shown the rest of it may be shown a
// part of the secret. [Text] takes credentials out of a sentence.
//
// What is a secret is decided by the name that stands before a value (name.go), by
// shapes of our own (shape.go), and by the rules of gitleaks, which know the tokens
// of some hundred providers (rule.go).
package redact
