// Package source says where pool files come from: a Git repository or a
// directory. It hands out a Snapshot: a revision and the pool files of that
// revision, whole, in memory and read-only. What is a pool file goes by names; the
// package knows nothing of what the files say.
//
// Start with [Git.Head], which asks a repository for the revision that a ref
// stands at, and [Git.Fetch], which brings exactly that revision; or with
// [Directory], for files that are on this machine. A caller that polls keeps
// the revision it has and fetches only when Head names another one. [OpenLocal]
// reads the revisions of a clone that is on this machine, and asks nobody; [Checkout]
// reads its files, and holds them against what Git has of them.
//
// What a caller can rely on:
//
//   - A snapshot is the revision that was asked for or there is none. No pool file
//     is left out in silence: what cannot be read, is too large or leads
//     elsewhere (a symbolic link, a submodule) is an error that names the file,
//     because a file that is missing would otherwise look like a pool that was
//     deleted. What cannot be one by its name is not looked at.
//   - Every call ends: within [Git].Timeout and no later than its context, and
//     leaves neither goroutine nor file behind.
//   - Every error is an [Error]: our own words, one line, at most
//     [MaxErrorLength] bytes, with nothing in it that a remote server said and
//     no credential. [Reason] gives the word for a condition, [Hint] what to do
//     about it.
//
// No state is shared between calls and none of the process's global state is
// changed: the package speaks the Git protocol with go-git's parts and
// connections of its own, instead of go-git's registry of transports.
package source
