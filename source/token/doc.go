// Package token gets the short-lived tokens that servers of Git take, for what an
// administrator has set up once: a GitHub App, or the workload identity of the controller
// at Azure or AWS. Start with [Cache.Token], which is given an [Issuer]: [GitHub],
// [Azure] or [AWS].
//
// Where tokens are sent does not depend on who writes a source. The identity of the
// controller belongs to its ServiceAccount, and a token of it goes to the hosts of that
// cloud alone, which stand in this package. That of a GitHub App goes to what the prefix
// of its Secret covers, which package auth checks.
//
// The protocols are the published ones, with the standard library alone. No error has a
// token in it, nor a word of a server: what it says decides which error it is.
package token
