package main

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// The controller keeps its heap small, but for a user who has said how large it
// may grow.
func TestHeapIsBounded(t *testing.T) {
	cluster.Long(t)
	growth := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	t.Cleanup(func(before int) func() { return func() { debug.SetGCPercent(before) } }(growth()))

	t.Setenv("GOGC", "") // restores it in the end
	if err := os.Unsetenv("GOGC"); err != nil {
		t.Fatal(err)
	}
	debug.SetGCPercent(100)
	if boundHeap(); growth() != heapGrowth {
		t.Errorf("the heap grows by %d percent, want %d", growth(), heapGrowth)
	}
	t.Setenv("GOGC", "200")
	debug.SetGCPercent(200) // as the runtime does when it starts
	if boundHeap(); growth() != 200 {
		t.Errorf("the heap grows by %d percent, and the user has said 200", growth())
	}
}
