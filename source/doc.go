// Package source is the contract of what pool files are followed in: a [Repository]
// gives out a [Snapshot], which is a revision and the pool files of that revision,
// whole, in memory and read-only. Nothing in it knows a protocol, nor what the files
// say.
//
// Start with [Repository]. Package git in it follows a repository on a server; package
// local reads a clone, a working tree or a folder on this machine. A further kind of
// source is a further package beside these: it adds what it reads to a
// poolfile.Collector, which has the rules and the limits that all share, and returns
// errors made by [NewError].
//
// What a caller can rely on, whatever the kind:
//
//   - A snapshot is the revision that was asked for or there is none. No pool file
//     is left out in silence: what cannot be read, is too large or leads
//     elsewhere (a symbolic link, a submodule) is an error that names the file,
//     because a file that is missing would otherwise look like a pool that was
//     deleted. What cannot be one by its name is not read.
//   - Every call ends no later than its context, and leaves neither goroutine nor
//     file behind, but for what its caller has it keep for the next one.
//   - Every error is an [Error]: our own words, one line, at most
//     [MaxErrorLength] bytes, with nothing in it that a remote server said and
//     no credential. [Reason] gives the word for a condition, [Hint] what to do
//     about it.
//   - No state is shared between calls but such, which changes no result, and none of
//     the process's global state is changed.
package source
