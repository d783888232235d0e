package controller

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/git"
)

// look is what the last look at a repository found. It is lost with the process;
// the first pass then looks again.
type look struct {
	// source is the one that was looked at: its name may be given again.
	source types.UID
	// at is when, and of which spec and request, so that a pass which only has to
	// repair a pool does not bother the repository.
	at         time.Time
	generation int64
	request    string
	// revision is the one that was read last, good or not.
	revision string
	// refused says why that revision was not taken; nil for a good one.
	refused *refusal
	// unreachable says why the last look failed, nil when it did not, and
	// failures how many have in a row.
	unreachable error
	failures    int
	// good and pools are the last good revision, if this process has seen one.
	good  string
	pools []render.Definition
	// approved are the pools that were deleted because somebody has approved the
	// prune of the last good revision.
	approved []string
}

// due tells whether it is time to ask the repository: the interval has passed,
// the spec is another one, or somebody asks for it.
func (l *sourceLoop) due(src *v1.NodePoolSource, seen *look) bool {
	return seen == nil || seen.generation != src.Generation ||
		seen.request != src.Annotations[v1.RequestedAtAnnotation] ||
		l.now().Sub(seen.at) >= l.period(src, seen.failures)
}

// next is when the next pass is due: with the next look, or earlier where the
// pools could not be written.
func (l *sourceLoop) next(src *v1.NodePoolSource, seen *look, failure error) time.Duration {
	if failure != nil {
		return l.period(src, 1)
	}
	return max(l.period(src, seen.failures)-l.now().Sub(seen.at), retryPeriod)
}

// period is the time between two looks. After a failure it is not longer than
// maxRetry; short intervals double up to that while it goes on.
func (l *sourceLoop) period(src *v1.NodePoolSource, failures int) time.Duration {
	interval := src.Spec.Interval.Duration
	if interval <= 0 {
		interval = v1.DefaultInterval
	}
	if failures == 0 {
		return interval
	}
	for ; failures > 1 && interval < l.maxRetry; failures-- {
		interval *= 2
	}
	return min(interval, l.maxRetry)
}

// look asks the repository for its revision, and reads it when it is new. It
// returns what is known then; the look before it is not changed.
func (l *sourceLoop) look(ctx context.Context, src *v1.NodePoolSource, before *look) *look {
	seen := &look{source: src.UID}
	if before != nil && before.generation == src.Generation {
		*seen = *before
	} else if before != nil {
		// Another spec may mean other files at the same revision, but the pools
		// that are in the cluster came from the last good one all the same.
		seen.good, seen.pools = before.good, before.pools
	}
	seen.at, seen.generation, seen.request = l.now(), src.Generation, src.Annotations[v1.RequestedAtAnnotation]
	seen.unreachable = l.ask(ctx, src, seen)
	if seen.unreachable == nil {
		seen.failures = 0
		return seen
	}
	// The pause begins now: a repository that hangs takes a worker as long as a
	// look may take.
	seen.at = l.now()
	seen.failures++
	return seen
}

// read brings the look up to date with the repository. An error says that the
// repository could not be read; one that a revision is to blame for is noted
// with the revision instead.
func (seen *look) read(ctx context.Context, repository source.Repository, layers []string) error {
	revision, snapshot, err := repository.Latest(ctx, seen.revision)
	switch {
	case revision != "" && saysTheRevision(err):
		seen.revision, seen.refused = revision, &refusal{reason: source.Reason(err), err: err}
		return nil
	case err != nil || snapshot == nil:
		return err
	}
	seen.take(ctx, revision, snapshot, layers)
	return nil
}

// take loads the pools of a revision. A revision with any problem is refused
// whole, and the last good one stays.
func (seen *look) take(ctx context.Context, revision string, snapshot *source.Snapshot, layers []string) {
	seen.revision, seen.refused = revision, nil
	pools, err := render.Load(snapshot.Files, layers...)
	if err != nil {
		seen.refused = &refusal{reason: v1.InvalidReason, err: err}
		return
	}
	log.FromContext(ctx).Info("read revision", "revision", revision, "pools", len(pools))
	seen.good, seen.pools, seen.approved = revision, pools, nil
}

// approve notes pools whose deletion is approved, and tells whether there are any
// that were not noted before.
func (seen *look) approve(names []string) bool {
	before := len(seen.approved)
	for _, name := range names {
		if !slices.Contains(seen.approved, name) {
			seen.approved = append(seen.approved, name)
		}
	}
	return len(seen.approved) > before
}

// disapprove takes back what is kept after all.
func (seen *look) disapprove(kept []string) {
	seen.approved = slices.DeleteFunc(seen.approved, func(name string) bool { return slices.Contains(kept, name) })
}

// saysTheRevision tells whether a fetch failed because of what the revision
// holds: it would fail again, so it is not tried again until there is another.
func saysTheRevision(err error) bool {
	return slices.ContainsFunc([]error{
		source.ErrPathMissing, source.ErrPathNotFolder, source.ErrPathEmpty, source.ErrFile, source.ErrTooLarge,
	}, func(kind error) bool { return errors.Is(err, kind) })
}

// Repository is what a source follows: its URL, its ref and its path. One look at
// it takes no longer than the timeout; 0 is git.DefaultTimeout.
func Repository(src *v1.NodePoolSource, timeout time.Duration) *git.Repository {
	repository := &git.Repository{URL: src.Spec.URL, Path: src.Spec.Path, Timeout: timeout}
	if ref := src.Spec.Ref; ref != nil {
		repository.Ref = git.Ref{Branch: ref.Branch, Tag: ref.Tag, Semver: ref.Semver, Commit: ref.Commit}
	}
	return repository
}

func (l *sourceLoop) lookOf(src *v1.NodePoolSource) *look {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seen := l.looks[src.Name]; seen != nil && seen.source == src.UID {
		return seen
	}
	return nil
}

func (l *sourceLoop) remember(src *v1.NodePoolSource, seen *look) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looks[src.Name] = seen
}

func (l *sourceLoop) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.looks, name)
}
