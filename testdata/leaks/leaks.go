// Package leaks compares what a process holds before and after some work:
// goroutines, open files, child processes and files in the folder for temporary
// ones.
//
// Take what is [Held] at the beginning, do the work, and call [Held.Check] at
// the end. A failure names each thing that is left: a goroutine by its stack, a
// file by its path, a connection by its two ends.
package leaks

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Held is what the process holds at a moment.
type Held struct {
	goroutines map[string]int // by stack
	files      map[string]int // by what they lead to
	children   map[string]int // by program and process id
	temporary  map[string]int // by name
	heap       uint64
}

// garbageLimit is how much memory a process may use before garbage is collected
// between Now and the end of a test, in bytes.
const garbageLimit = 256 << 20

// Now records what is held as soon as the number of goroutines is stable. From
// then on until the test ends garbage is collected rarely: collecting it closes
// files that were forgotten, which then would not be missed.
func Now(t testing.TB) Held {
	heap := heap()
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(garbageLimit)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
	settle(runtime.NumGoroutine)
	held := now()
	held.heap = heap
	return held
}

func now() Held {
	return Held{goroutines: goroutines(), files: openFiles(), children: children(), temporary: temporary()}
}

// heap returns its size in bytes, without garbage.
func heap() uint64 {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.HeapInuse
}

// settle waits, for at most a second, until a count has not decreased for a while.
func settle(count func() int) {
	least, since := count(), 0
	for range 100 {
		time.Sleep(10 * time.Millisecond)
		if n := count(); n < least {
			least, since = n, 0
		} else if since++; since == 20 {
			return
		}
	}
}

// Check fails the test when more is held than at the beginning, and still is
// after the timeout: resources take a moment to be released. It logs the size
// of the heap, which proves nothing by itself.
func (before Held) Check(t testing.TB, timeout time.Duration) {
	t.Helper()
	deadline := time.Now().Add(timeout)
	after := now()
	for ; !before.covers(after) && time.Now().Before(deadline); after = now() {
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("held before and after: %d and %d goroutines, %d and %d files, %d and %d children, %d and %d temporary files; heap %d and %d KiB",
		sum(before.goroutines), sum(after.goroutines), sum(before.files), sum(after.files), sum(before.children), sum(after.children),
		sum(before.temporary), sum(after.temporary), before.heap>>10, heap()>>10)
	if before.covers(after) {
		return
	}
	for _, kind := range []struct {
		name          string
		before, after map[string]int
	}{
		{"goroutines", before.goroutines, after.goroutines},
		{"open files", before.files, after.files},
		{"children", before.children, after.children},
		{"temporary files", before.temporary, after.temporary},
	} {
		if left := more(kind.before, kind.after); sum(kind.after) > sum(kind.before) {
			t.Errorf("%s: %d, were %d; left are:\n%s", kind.name, sum(kind.after), sum(kind.before), strings.Join(left, "\n"))
		}
	}
}

// covers compares the sums: a goroutine may wait at another line than before,
// and a connection may be another one.
func (before Held) covers(after Held) bool {
	return sum(after.goroutines) <= sum(before.goroutines) && sum(after.files) <= sum(before.files) &&
		sum(after.children) <= sum(before.children) && sum(after.temporary) <= sum(before.temporary)
}

func sum(counts map[string]int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

// more lists what there is more of, the most first, up to a limit.
func more(before, after map[string]int) []string {
	names := slices.SortedFunc(maps.Keys(after), func(a, b string) int {
		if by := (after[b] - before[b]) - (after[a] - before[a]); by != 0 {
			return by
		}
		return strings.Compare(a, b)
	})
	var lines []string
	for _, name := range names {
		if n := after[name] - before[name]; n > 0 && len(lines) < 10 {
			lines = append(lines, fmt.Sprintf("%d × %s", n, name))
		}
	}
	return lines
}

var (
	// goroutineHead begins each group of the profile: how many, and where they are
	// in memory.
	goroutineHead = regexp.MustCompile(`^(\d+) @`)
	// goroutineFrame is a function, and the file and line that it is at.
	goroutineFrame = regexp.MustCompile(`^#\s+0x[0-9a-f]+\s+(\S+)\+0x[0-9a-f]+\s+(?:\S*/)?(\S+)$`)
)

func goroutines() map[string]int {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return nil // a buffer takes everything
	}
	counts := map[string]int{}
	for group := range strings.SplitSeq(profile.String(), "\n\n") {
		n, stack := 0, ""
		for line := range strings.Lines(group) {
			line = strings.TrimSpace(line)
			if head := goroutineHead.FindStringSubmatch(line); head != nil {
				n, _ = strconv.Atoi(head[1]) // they are digits
			} else if frame := goroutineFrame.FindStringSubmatch(line); frame != nil {
				stack += "\n\t" + frame[1] + " " + frame[2]
			}
		}
		counts["goroutine"+stack] += n
	}
	return counts
}

func temporary() map[string]int {
	names := map[string]int{}
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		return names
	}
	for _, entry := range entries {
		names[entry.Name()]++
	}
	return names
}
