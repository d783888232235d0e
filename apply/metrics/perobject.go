package metrics

import (
	"strings"
	"sync"
)

// maxPerObject bounds the objects of which something is counted. Nobody has as many pools
// or sources; it is there for a process that nobody scrapes, which forgets nothing.
const maxPerObject = 10_000

// perObject counts by the name of a pool or of a source, and by other labels. What is
// counted of objects that are gone is dropped when it is scraped.
type perObject struct {
	definition *Definition

	mu sync.Mutex
	// counts are by the name of the object, and then by all values of labels.
	counts map[string]map[string]*count
}

type count struct {
	labels []string
	value  float64
}

func newPerObject(definition *Definition) *perObject {
	return &perObject{definition: definition, counts: map[string]map[string]*count{}}
}

// add adds to the count of an object, whose name is the first label.
func (p *perObject) add(value float64, labels ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := labels[0]
	of := p.counts[name]
	if of == nil {
		if len(p.counts) >= maxPerObject {
			clear(p.counts)
		}
		of = map[string]*count{}
		p.counts[name] = of
	}
	key := strings.Join(labels[1:], "\x00")
	if of[key] == nil {
		of[key] = &count{labels: labels}
	}
	of[key].value += value
}

// take returns a copy of all counts, and drops those of objects that are gone.
func (p *perObject) take(exists map[string]bool) []count {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]count, 0, len(p.counts))
	for name, of := range p.counts {
		if !exists[name] {
			delete(p.counts, name)
			continue
		}
		for _, c := range of {
			all = append(all, *c)
		}
	}
	return all
}
