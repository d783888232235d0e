// Package apply carries plans out: it writes nodes, RuntimeClasses and
// NodePools, and decides nothing.
//
// Start with [Applier]. Every write names the version of the object that its
// plan was made from, and the API server refuses it when somebody else was
// faster ([IsConflict]); the caller then reads and plans again. So nothing that
// happened in between is lost, and nothing that is gone comes back to life.
package apply
