package git

import (
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
)

// Caches are those of many repositories, within limits that all share: [MaxKeptBytes] and
// [MaxKeptFiles]. Make them with [NewCaches]; whoever makes them closes them.
type Caches struct {
	mu     sync.Mutex
	all    map[string]*Cache
	closed bool
	// bytes and files are what all of them keep now, and may.
	bytes, maxBytes int64
	files, maxFiles int
}

// NewCaches returns caches with nothing in them.
func NewCaches() *Caches {
	return &Caches{all: map[string]*Cache{}, maxBytes: MaxKeptBytes, maxFiles: MaxKeptFiles}
}

// Of returns the cache of a key. Another version of it is another cache, which has
// nothing of the one before.
func (c *Caches) Of(key, version string) *Cache {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.all[key]; before != nil {
		if before.version == version {
			return before
		}
		c.drop(key)
	}
	one := &Cache{of: c, version: version, dropped: c.closed}
	if !c.closed {
		c.all[key] = one
	}
	return one
}

// Drop discards the cache of a key, also where a call still makes use of it: what that
// would leave in it is gone with its end.
func (c *Caches) Drop(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(key)
}

// Close discards all caches, for good.
func (c *Caches) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for key := range c.all {
		c.drop(key)
	}
}

func (c *Caches) drop(key string) {
	if one := c.all[key]; one != nil {
		one.dropped = true
		one.empty()
		delete(c.all, key)
	}
}

// Cache is what calls for one repository leave for those that come later: how the server
// speaks, and the objects of the revision that was fetched last, in one file that has no
// name. [Caches.Of] returns one; several calls may make use of it at the same time, and of
// a nil one.
//
// It makes calls cheaper and changes no result: what is read is what its hash says, and
// where anything is missing or odd, the revision is fetched whole.
type Cache struct {
	of      *Caches // whose lock is for all below, too
	version string
	dropped bool
	kept    *kept
	known   *knownServer
	// failures is how often in a row a fetch onto what was kept has led to nothing; rest is
	// how many of those that follow ask for the whole at once.
	failures, rest int
}

// knownServer is a server that speaks version 2 over http.
type knownServer struct {
	base     string // the repository's URL
	greeting *advertisement
}

// maxFailures is how often in a row a server is tried that makes nothing of what is kept.
// Then the whole is asked for restFetches times, until it is tried once more: a server may be
// replaced by one that can.
const (
	maxFailures = 3
	restFetches = 10
)

// maxMissed is how often in a row a fetch onto what is kept may end without an answer,
// until the whole is asked for.
const maxMissed = 2

func (c *Cache) server() *knownServer {
	if c == nil {
		return nil
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return c.known
}

func (c *Cache) rememberServer(base string, greeting *advertisement) {
	if c == nil {
		return
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.known = &knownServer{base, greeting}
}

func (c *Cache) forgetServer() {
	if c == nil {
		return
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.known = nil
}

// take hands out what is kept, which is then the caller's alone: nil where there is
// nothing, or nothing of use.
func (c *Cache) take() *kept {
	if c == nil {
		return nil
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.kept == nil {
		return nil
	}
	if c.rest > 0 {
		c.rest--
		c.empty()
		return nil
	}
	if c.kept.isFull() {
		c.empty()
		return nil
	}
	taken := c.kept
	c.release()
	return taken
}

// keep takes over the file of a pack for the next fetch, in place of what was kept before.
func (c *Cache) keep(p *pack, commit plumbing.Hash) {
	if c == nil {
		p.discard()
		return
	}
	if p.end > MaxKeptOfOne {
		p.discard()
		return
	}
	k, err := p.keep(commit)
	if err != nil { // a full disk, for one: the next fetch does without
		p.discard()
		return
	}
	if p.earlier != nil {
		c.reset()
	}
	c.putBack(k)
}

// putBack keeps what was handed out, or discards it where it exceeds a limit.
func (c *Cache) putBack(k *kept) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.empty()
	if c.dropped || k.size > MaxKeptOfOne || c.of.bytes+k.size > c.of.maxBytes || c.of.files >= c.of.maxFiles {
		k.discard()
		return
	}
	_ = k.file.Truncate(k.size) // what lies behind is of a fetch that has failed
	c.kept = k
	c.of.files++
	c.of.bytes += k.size
}

// disappoint counts a fetch onto what was kept that has led to nothing.
func (c *Cache) disappoint() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.failures++; c.failures >= maxFailures {
		c.rest = restFetches
	}
}

func (c *Cache) reset() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.failures, c.rest = 0, 0
}

// empty discards what is kept. The lock is held.
func (c *Cache) empty() {
	if c.kept != nil {
		c.kept.discard()
		c.release()
	}
}

// release no longer counts what is kept. The lock is held.
func (c *Cache) release() {
	c.of.files--
	c.of.bytes -= c.kept.size
	c.kept = nil
}
