// Package page writes a review as one HTML file for people who would rather look
// than read: pools as groups, their nodes as cells, as they are and as they will
// be, and what happens to pods beside them.
//
// The file stands alone. It has no script and asks for nothing, and a security
// policy in it forbids both. All that a review says is text in it, whatever it
// says.
package page
