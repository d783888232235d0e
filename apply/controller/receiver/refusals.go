package receiver

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// refusalPeriod is how often refusals are logged, if there are any.
const refusalPeriod = time.Minute

// refusals counts requests that are refused, by the status of the answer: a line for
// each would let a stranger fill the log. Nothing of a request is kept. The zero value is
// ready to use.
type refusals struct {
	mu     sync.Mutex
	counts map[int]int
}

func (r *refusals) add(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[int]int{}
	}
	r.counts[status]++
}

// take returns what was counted since the last call, such as "2 Unauthorized".
func (r *refusals) take() string {
	r.mu.Lock()
	counts := r.counts
	r.counts = nil
	r.mu.Unlock()
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[status], http.StatusText(status)))
	}
	return strings.Join(parts, ", ")
}

// report logs the counts until the context ends; the channel is closed then.
func (r *refusals) report(ctx context.Context, log logr.Logger) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(refusalPeriod)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-ctx.Done():
			}
			if counts := r.take(); counts != "" {
				log.Info("refused webhook requests", "count", counts)
			}
			if ctx.Err() != nil {
				return
			}
		}
	}()
	return ended
}
