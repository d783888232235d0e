package token

import "time"

// When tokens are renewed, replaced and asked for again. All of it is pure.
const (
	// early is how long before it expires a token is renewed.
	early = 5 * time.Minute
	// maxLifetime bounds what is believed of a server that says when a token expires.
	maxLifetime = 24 * time.Hour
	// settled is how long a token that was issued in place of a refused one is kept,
	// refused or not: another one would be refused as well.
	settled = time.Minute
	// minWait and maxWait bound how long a server can have us wait that asks for it.
	minWait, maxWait = time.Second, 10 * time.Minute
)

// renewal is when a token is renewed: five minutes before it expires, or after half of
// its life where that is less than ten minutes.
func renewal(issued, expires time.Time) time.Time {
	half := issued.Add(expires.Sub(issued) / 2)
	if at := expires.Add(-early); at.After(half) {
		return at
	}
	return half
}

// bounded is when a token expires, at the latest a day from now.
func bounded(expires, now time.Time) time.Time {
	if latest := now.Add(maxLifetime); expires.After(latest) {
		return latest
	}
	return expires
}

func (t *Token) fresh(now time.Time) bool {
	return t != nil && now.Before(renewal(t.issued, t.expires))
}
func (t *Token) valid(now time.Time) bool { return t != nil && now.Before(t.expires) }

// replaceable reports whether a token that a server of Git has refused is given up. The
// first one is, whatever its age: it may have been revoked. What was issued in its place
// is given some time.
func (t *Token) replaceable(now time.Time) bool {
	return !t.replacement || now.Sub(t.issued) >= settled
}

// wait is how long a server is not asked that asks for time.
func wait(asked time.Duration) time.Duration { return min(max(asked, minWait), maxWait) }
