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
	// pending are the names of sources with a request that no write stands for yet.
	pending map[string]struct{}
}

func newRequests(cached client.Reader, api client.Client, log logr.Logger) *requests {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](loop.RetryPeriod, loop.MaxBackoff)
	return &requests{
		cached: cached, api: api, log: log, now: time.Now,
		queue: workqueue.NewTypedRateLimitingQueue(limiter), pending: map[string]struct{}{},
	}
}

// add asks for a poll of a source.
func (r *requests) add(source string) {
	r.put(source)
	r.queue.Add(source)
}

func (r *requests) put(source string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending[source] = struct{}{}
}

// take reports whether a request is pending, which the caller then sees to.
func (r *requests) take(source string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, pending := r.pending[source]
	delete(r.pending, source)
	return pending
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
	src := r.source(ctx, source)
	if src == nil {
		r.take(source)
		return
	}
	if wait := r.wait(src); wait > 0 {
		r.queue.AddAfter(source, wait)
		return
	}
	if !r.take(source) {
		return // an earlier write stands for it
	}
	err := r.write(ctx, src, src.ResourceVersion)
	switch {
	case err == nil:
		r.log.Info("asked for a poll", "source", source)
		r.queue.Forget(source)
	case apierrors.IsConflict(err):
		// The cache is behind, perhaps of what another replica has just asked.
		r.put(source)
		r.queue.AddAfter(source, loop.RetryPeriod)
	case !apierrors.IsNotFound(err):
		r.log.Error(err, "a poll cannot be asked for yet", "source", source)
		r.put(source)
		r.queue.AddRateLimited(source)
	}
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
