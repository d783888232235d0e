// Package local reads pool files on this machine: a revision of a Git repository, its
// working tree, or a folder. It asks no server and runs no program.
//
// Start with [Open], for the revisions of a clone, or with [Checkout], which reads files
// as they are on disk and refuses a folder from which git leaves files out. [Directory]
// reads a folder without asking what Git has. Package object reads commits and folders, by
// the rules of a fetch from a server.
package local
