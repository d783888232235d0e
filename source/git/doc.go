// Package git follows a Git repository on a server: over https, http and ssh, or, for a
// file URL, through the git program of this machine.
//
// Start with [Repository.Head], which asks a repository for the revision that a ref
// stands at, and [Repository.Fetch], which brings exactly that revision.
// [Repository.Latest] is both, for callers that poll: it fetches only when Head names
// another revision than the one that they have. Who polls gives each repository a [Cache]:
// then a poll that finds nothing new is one request, and a fetch brings what is new.
//
// A conversation is in version 2 of the protocol (lsrefs.go, fetchv2.go) where the server
// has that, and in version 0 (advertisement.go, fetchv0.go) otherwise.
//
// Every call ends within Repository.Timeout. The package speaks the Git protocol with
// go-git's parts and connections of its own, instead of go-git's registry of
// transports, which the whole process would share. What is sent by a server is a pack
// on disk, which package object reads.
package git
