package receiver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/plan"
)

const (
	// requestPeriod is the least time between two polls of a source that are asked for.
	requestPeriod = 2 * time.Second
	// writeTimeout bounds one write.
	writeTimeout = 5 * time.Second
	// requestWorkers is how many sources are written at a time.
	requestWorkers = 4
)

// requests asks for polls of sources: by the annotation that people use for it, so that
// the replica that holds the lease polls, whichever was asked.
//
// What is asked for within the period is asked once, at its end. That one poll begins
// after all that it stands for has come, so nothing that was pushed is missed.
type requests struct {
	cached client.Reader
	api    client.Client
	log    logr.Logger
	now    func() time.Time
	queue  workqueue.TypedRateLimitingInterface[string] // of names of sources

	mu sync.Mutex
	// pending has, by the name of the source, the number of the last request that no
	// write stands for yet.
	pending map[string]uint64
	last    uint64
}

func newRequests(cached client.Reader, api client.Client, log logr.Logger) *requests {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](loop.RetryPeriod, loop.MaxBackoff)
	return &requests{
		cached: cached, api: api, log: log, now: time.Now,
		queue: workqueue.NewTypedRateLimitingQueue(limiter), pending: map[string]uint64{},
	}
}

// add asks for a poll of a source.
func (r *requests) add(source string) {
	r.mu.Lock()
	r.last++
	r.pending[source] = r.last
	r.mu.Unlock()
	r.queue.Add(source)
}

// start begins to write. What it returns ends that, and writes at once what is pending.
func (r *requests) start() (stop func()) {
	var working sync.WaitGroup
	for range requestWorkers {
		working.Go(func() {
			for {
				source, ended := r.queue.Get()
				if ended {
					return
				}
				r.serve(context.Background(), source)
				r.queue.Done(source)
			}
		})
	}
	return func() {
		r.queue.ShutDown()
		working.Wait()
		r.flush()
	}
}

// flush writes what is pending, without waiting for the period: nobody else will.
func (r *requests) flush() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	r.mu.Lock()
	sources := slices.Sorted(maps.Keys(r.pending))
	r.mu.Unlock()
	for _, source := range sources {
		if src := r.source(ctx, source); src != nil {
			if err := r.write(ctx, src, ""); err != nil {
				r.log.Error(err, "a push is followed at the next interval only", "source", source)
			}
		}
	}
}

// serve asks for a poll of a source, or puts that off to the end of the period.
func (r *requests) serve(ctx context.Context, source string) {
	r.mu.Lock()
	number := r.pending[source]
	r.mu.Unlock()
	if number == 0 {
		return // an earlier write stands for it
	}
	src := r.source(ctx, source)
	if src == nil {
		r.forget(source, number)
		return
	}
	if wait := r.wait(src); wait > 0 {
		r.queue.AddAfter(source, wait)
		return
	}
	err := r.write(ctx, src, src.ResourceVersion)
	switch {
	case err == nil:
		r.log.Info("asked for a poll", "source", source)
	case apierrors.IsConflict(err):
		// The cache is behind, perhaps of what another replica has just asked.
		r.queue.AddAfter(source, loop.RetryPeriod)
		return
	case !apierrors.IsNotFound(err):
		r.log.Error(err, "a poll cannot be asked for yet", "source", source)
		r.queue.AddRateLimited(source)
		return
	}
	r.queue.Forget(source)
	r.forget(source, number)
}

// source returns a source that is polled; nil where it is gone, is being deleted, or is
// not to be polled now. It is polled then when it is resumed.
func (r *requests) source(ctx context.Context, name string) *v1.NodePoolSource {
	src := &v1.NodePoolSource{}
	if err := r.cached.Get(ctx, client.ObjectKey{Name: name}, src); err != nil {
		return nil
	}
	if plan.SourceOutcomeOf(src).State() != plan.SourceStateActive {
		return nil
	}
	return src
}

// forget drops a request, unless another one has come since.
func (r *requests) forget(source string, number uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending[source] == number {
		delete(r.pending, source)
	}
}

// wait returns how long a poll has to wait, by when one was last asked for: by this
// replica, by another one, or by somebody who has written a time. The clock of another
// machine may be ahead; what it says then counts for a period at the most.
func (r *requests) wait(src *v1.NodePoolSource) time.Duration {
	asked, err := time.Parse(time.RFC3339Nano, src.Annotations[v1.RequestedAtAnnotation])
	if err != nil {
		return 0
	}
	passed := r.now().Sub(asked)
	if passed >= requestPeriod || passed <= -requestPeriod {
		return 0
	}
	return min(requestPeriod-passed, requestPeriod)
}

// write asks for a poll. It is refused where the source is another one, or where it is
// not at the version, if one is given.
func (r *requests) write(ctx context.Context, src *v1.NodePoolSource, version string) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	metadata := map[string]any{
		"uid":         src.UID,
		"annotations": map[string]string{v1.RequestedAtAnnotation: r.now().UTC().Format(time.RFC3339Nano)},
	}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	object := &v1.NodePoolSource{}
	object.Name = src.Name
	err = r.api.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1.FieldManager))
	if err != nil {
		return fmt.Errorf("source %q: %w", src.Name, err)
	}
	return nil
}
