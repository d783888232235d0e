package plan

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Poll is what a source knows of its last poll when it decides on the next one.
type Poll struct {
	// At is when it ended.
	At time.Time
	// Failures is how many have failed in a row, this one included.
	Failures int
	// Credential reports that it has failed because the credential of the source cannot be used:
	// the server was not asked.
	Credential bool
	// RetryAfter is how long the server has asked to wait; 0 where it has not.
	RetryAfter time.Duration
	// Requested is true where somebody has asked for another one since.
	Requested bool
	// Forced is when the source was polled last because somebody had asked for it while
	// the server asked to wait; zero for never.
	Forced time.Time
}

// ForcedPeriod is the least time between two polls that somebody asks for while the
// server asks to wait: a webhook would else do so with every push.
const ForcedPeriod = 10 * time.Second

// CredentialPeriod is the most time between two polls of a source whose credential cannot be used.
// Such a poll reads a Secret, and asks no server. Whoever corrects the Secret waits for it, and the
// controller may not watch Secrets.
const CredentialPeriod = 2 * time.Second

// RereadPeriod is how long a revision that is too large is not fetched again, while it is
// the newest one.
const RereadPeriod = time.Hour

// Rereads reports whether a poll reads a revision again that was refused at the time
// refused, as it was too large. What a repository holds at a revision never changes, and
// everything else that is wrong with one is seen in objects that are what their hashes
// say; but how much will come is the word of the server, and may be a broken one. So it is
// tried again after [RereadPeriod], and when somebody asks for a poll.
func Rereads(refused time.Time, last Poll, now time.Time) bool {
	return last.Requested || now.Sub(refused) >= RereadPeriod
}

// jitter is the share of its period by which a poll comes earlier or later: sources that
// are made at the same time, or that a server has failed together, do not poll together.
const jitter = 0.1

// PollPeriod is the time from a poll to the next one: the interval of the source, give or
// take a tenth. After failures it is at most maxRetry, and short intervals double up to
// that; where the credential cannot be used, at most [CredentialPeriod]; but never is it less than the server has asked for. It is the same for the same
// source and poll. Who asks for a poll gets it at once, or after [ForcedPeriod].
func PollPeriod(src *v1.NodePoolSource, last Poll, maxRetry time.Duration) time.Duration {
	period := pollPeriod(src, last, maxRetry)
	switch {
	case !last.Requested:
		return period
	case last.RetryAfter == 0 || last.Forced.IsZero():
		return 0
	}
	return min(period, max(0, last.Forced.Add(ForcedPeriod).Sub(last.At)))
}

func pollPeriod(src *v1.NodePoolSource, last Poll, maxRetry time.Duration) time.Duration {
	period := src.Spec.Interval.Duration
	if period <= 0 {
		period = v1.DefaultInterval
	}
	if last.Credential {
		return jittered(min(period, maxRetry, CredentialPeriod), src, last)
	}
	if last.Failures == 0 {
		return jittered(period, src, last)
	}
	for failures := last.Failures; failures > 1 && period < maxRetry; failures-- {
		period *= 2
	}
	period = min(jittered(min(period, maxRetry), src, last), maxRetry)
	if wait := last.RetryAfter; period < wait {
		return wait + (jittered(wait, src, last)-wait*9/10)/2 // up to a tenth later, and never earlier
	}
	return period
}

// jittered changes a period by up to its tenth, by the source and by when it was polled
// last.
func jittered(period time.Duration, src *v1.NodePoolSource, last Poll) time.Duration {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(src.UID)) // a hash takes all
	_, _ = hash.Write(binary.BigEndian.AppendUint64(nil, uint64(last.At.UnixNano())))
	// FNV mixes the last bytes into the upper bits least; the middle ones are well mixed.
	share := float64(hash.Sum64()>>16&0xffff) / 0xffff // between 0 and 1
	return period + time.Duration(float64(period)*jitter*(2*share-1))
}
