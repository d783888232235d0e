// Package page writes a review as one HTML file for people who would rather look
// than read: pools as groups, their nodes as cells, before and after where they are
// not the same, and what happens to pods beside them. The counts of the summary and
// an index of the pools lead to what they name. What is long is folded, in elements
// that unfold without a script, and when a link leads into them.
//
// The file stands alone. It has no script and asks for nothing, and a security
// policy in it forbids both. All that a review says is text in it, whatever it
// says.
package page
