// Package observe reads the state of a cluster: from its API server, or from an
// inventory file that stands for it. Start with [Connect] and [Server.State], or with
// [File].
//
// It lists and does nothing else, so that a role which can only read is enough.
package observe
