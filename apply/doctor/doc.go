// Package doctor judges an installation by what is observed of its cluster, and says what
// to do about what is wrong. Start with [Examine]; package examine reads the state.
//
// It is a pure function of a [State]: what could not be read is part of it, and is said.
package doctor
