// Package text writes a review for people at a terminal, 80 characters wide: what
// changes and the worst that it does in the first lines, then the details.
//
// Its only control sequences are the requested colours: names and values with
// control characters are quoted.
package text
