// Package apply executes plans: it writes nodes, RuntimeClasses and NodePools,
// and decides nothing.
//
// Start with [Applier]. Every write names the version of the object that its
// plan was made from, and the API server refuses it when the object has changed
// since ([IsConflict]); the caller then reads and plans again. So no concurrent
// change is lost, and no deleted object is created again.
package apply
