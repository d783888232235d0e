// Package receiver lets Git servers ask for a poll of a source, so that a push is
// followed at once. Start with [Add].
//
// A request that is authenticated by the token of a source leads to one write: its
// annotation nodes.lailin.xyz/requestedAt. Nothing of the request is in it but that it
// came. The poll then finds out what there is, and reads it as any other poll does.
//
// Every replica receives, whether it holds the lease or not: a Service leads to all of
// them. The write is therefore sent past the gate of the lease. It depends on nothing
// that is in memory, and says no more than that somebody asked; the replica that holds
// the lease acts on it.
package receiver
