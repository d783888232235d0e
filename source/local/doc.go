// Package local reads pool files on this machine: a revision of a Git repository, its
// working tree, or a folder. It asks no server and runs no program.
//
// Start with [Open], for the revisions of a clone, or with [Checkout], which reads files
// as they stand and holds them against what Git has of them. [Directory] reads a folder
// without asking what Git has.
//
// A repository on this machine may have been made to harm whoever reads it: every file
// in it is opened without waiting, has to be a regular one, and has a limit. Package
// object reads its commits and folders, by the rules of a fetch from a server.
package local
