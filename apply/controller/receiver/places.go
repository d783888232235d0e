package receiver

import (
	"context"
	"sync"
	"time"
)

const (
	// maxReading is how many bodies are read at a time, and maxReadingOfOne how many of
	// the requests to one source: whoever knows its path takes no places of others, and who
	// knows 16 paths takes all of them. Each costs its buffers, some 40 KiB.
	maxReading, maxReadingOfOne = 128, 8
	// maxWaiting is how long a request waits for a place: a burst of pushes comes at once,
	// and most Git servers deliver once only. GitHub waits 10 s for an answer.
	maxWaiting = 5 * time.Second
)

// places bounds how many bodies are read at a time.
type places struct {
	all chan struct{}

	mu sync.Mutex
	of map[string]*placesOf // by the name of the source
}

// placesOf are those of one source, for as long as requests have or wait for one.
type placesOf struct {
	taken    chan struct{}
	requests int
}

func newPlaces() *places {
	return &places{all: make(chan struct{}, maxReading), of: map[string]*placesOf{}}
}

// take waits for a place for the body of a request to a source, and reports whether there
// is one. What it returns gives the place back.
func (p *places) take(ctx context.Context, source string) (release func(), ok bool) {
	ctx, cancel := context.WithTimeout(ctx, maxWaiting)
	defer cancel()
	one := p.enter(source)
	if !await(ctx, one.taken) {
		p.leave(source)
		return nil, false
	}
	if !await(ctx, p.all) {
		<-one.taken
		p.leave(source)
		return nil, false
	}
	return func() {
		<-p.all
		<-one.taken
		p.leave(source)
	}, true
}

// await takes a place as soon as one is free, and reports whether that was in time.
func await(ctx context.Context, taken chan<- struct{}) bool {
	select {
	case taken <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *places) enter(source string) *placesOf {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[source] == nil {
		p.of[source] = &placesOf{taken: make(chan struct{}, maxReadingOfOne)}
	}
	p.of[source].requests++
	return p.of[source]
}

func (p *places) leave(source string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[source].requests--; p.of[source].requests == 0 {
		delete(p.of, source)
	}
}
