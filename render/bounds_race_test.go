//go:build race

package render

// mostPerPattern is what the cases that match very many values against a pattern may
// allocate: the race detector makes a pool of memory drop what it is given, so that a
// match allocates anew what it else reuses.
const mostPerPattern = 32 << 30
