// Package redact finds secrets in the values of labels, annotations and taints, so
// that they are not shown to more people than the cluster is.
//
// Start with [Finder.Secret], which reports whether a value is a secret or
// contains one, be it within JSON or YAML, a command line, a URL, or base64. It
// decides for the value as a whole: the rest of a value may contain a part of
// the secret. [Text] removes credentials from a sentence.
//
// A secret is recognized by the name of a value (name.go), by patterns of our
// own (shape.go), and by the rules of gitleaks, which know the tokens of some
// hundred providers (rule.go).
package redact
