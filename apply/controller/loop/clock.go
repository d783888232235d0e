package loop

import "time"

// Clock is by which reconcilers decide what may happen when, and wait until then. What
// only paces requests and reports goes by the time of the machine.
type Clock struct {
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

// SystemClock is that of the machine.
func SystemClock() Clock { return Clock{Now: time.Now, After: time.After} }
