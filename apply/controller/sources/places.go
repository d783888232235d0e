package sources

import (
	"net/url"
	"strings"
	"sync"

	"github.com/nodepools/nodepools/apply/controller/loop"
)

// places are for the polls that are under way, one for each worker. A host has no more of
// them than it leaves to others: a server that does not answer, with however many sources,
// keeps no source of another host waiting.
type places struct {
	mu      sync.Mutex
	all     int
	of      map[string]int      // by the host
	waiting map[string]struct{} // names of sources that have found no place
	queue   loop.Queue
}

// take reports whether there is a place for a poll of a source. Where there is none, a pass
// over the source is asked for when one becomes free.
func (p *places) take(host, source string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[host] >= Workers-p.all {
		p.waiting[source] = struct{}{}
		return false
	}
	p.all++
	p.of[host]++
	return true
}

// free gives a place back.
func (p *places) free(host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.of[host]--; p.of[host] == 0 {
		delete(p.of, host)
	}
	for source := range p.waiting {
		p.queue.Add(loop.RequestFor(source))
	}
	clear(p.waiting)
}

// hostOf is the host of the URL of a source, with its port; empty where it has none.
func hostOf(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}
