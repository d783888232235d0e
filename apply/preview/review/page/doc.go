// Package page writes a review as one HTML file that visualizes it: pools as
// groups, their nodes as cells, before and after where these differ, and what
// happens to pods beside them. The counts of the summary and an index of the
// pools link to the details. Long parts are folded, in elements that unfold
// without a script, and when a link leads into them. Start with [Write].
//
// The file is self-contained. It has no script and requests nothing, and a
// security policy in it forbids both. All content of a review is text in it.
package page
