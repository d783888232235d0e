// Package user finds how the user of this machine logs in at servers of Git: [Agent]
// with the keys of their ssh agent, [Helper] with what git's credential helper knows.
//
// It is for commands, at the user's explicit request. Neither is a credential that was
// given for one repository, so both are bound otherwise: an agent signs for servers
// whose host keys the user knows already, and a helper answers for a host.
package user
