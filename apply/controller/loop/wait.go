package loop

import "time"

// maxWait bounds how long something waits for a time before that is decided anew: clocks
// are set, and machines sleep.
const maxWait = 10 * time.Minute

// UntilOpening is after what time that which waits for an opening is decided anew; zero is
// an opening that is not known.
func UntilOpening(opens, now time.Time) time.Duration {
	if opens.IsZero() {
		return maxWait
	}
	return max(Bounded(opens.Sub(now)), AtOnce)
}

// Bounded is how long to wait at most before something is decided anew that is due after a
// time; 0 is one that is not known.
func Bounded(wait time.Duration) time.Duration {
	if wait == 0 {
		return maxWait
	}
	return min(wait, maxWait)
}

// Sooner is the shorter of two times, where 0 is none.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
