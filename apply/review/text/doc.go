// Package text writes a review for people at a terminal, 80 characters wide: what
// changes and the worst that it does in the first lines, then the details.
//
// Nothing in it does anything to the terminal but the colours that are asked for:
// names and values that hold control characters are quoted.
package text
