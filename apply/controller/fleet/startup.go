package fleet

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/nodecache"
)

// startup knows when a pass over every node has ended.
type startup struct {
	nodes  nodecache.Reader
	counts *counts
	now    func() time.Time

	// complete is read without the lock, too: who only wants to know waits for no list.
	complete atomic.Bool

	mu sync.Mutex
	// checked is when it was last found not to be complete; pending are the names of
	// nodes that were not observed when all were last listed, or some of them.
	checked time.Time
	pending []string
}

func (s *startup) everyNodeObserved(ctx context.Context) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.complete.Load() || s.now().Sub(s.checked) < loop.RetryPeriod {
		return s.complete.Load(), nil
	}
	// A list of all nodes is large, and asked for again and again while there is most
	// to do for nodes: one at the start, and one when they are through.
	if observed, err := s.pendingObserved(ctx); err != nil || !observed {
		s.checked = s.now()
		return false, err
	}
	if err := s.listPending(ctx); err != nil {
		return false, err
	}
	s.complete.Store(len(s.pending) == 0)
	s.checked = s.now()
	return s.complete.Load(), nil
}

// pendingObserved reports whether each of the pending nodes was observed or is gone.
func (s *startup) pendingObserved(ctx context.Context) (bool, error) {
	for len(s.pending) > 0 {
		if s.counts.Last(s.pending[0]) == nil {
			_, err := s.nodes.Node(ctx, s.pending[0])
			if !apierrors.IsNotFound(err) {
				return false, err
			}
		}
		s.pending = s.pending[1:]
	}
	return true, nil
}

func (s *startup) listPending(ctx context.Context) error {
	nodes, err := s.nodes.Nodes(ctx)
	if err != nil {
		return err
	}
	s.pending = nil
	for _, node := range nodes {
		if s.counts.Last(node.Name) == nil {
			s.pending = append(s.pending, node.Name)
		}
	}
	return nil
}
