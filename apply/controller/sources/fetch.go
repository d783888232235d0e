package sources

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/git"
)

// fetchState is what the last poll of a repository found. It is lost with the process;
// the first pass then polls again.
type fetchState struct {
	// source is the one that was polled: its name may be given again.
	source types.UID
	// at is when, and of which spec and request, so that a pass which only has to
	// repair a pool does not bother the repository.
	at         time.Time
	generation int64
	request    string
	// revision is the one that was read last, good or not.
	revision string
	// refused says why that revision was not taken; nil for a good one. unread is since
	// when it is known to be too large, zero where it is not, and rereads is true where it
	// is read again.
	refused *refusal
	unread  time.Time
	rereads bool
	// forced is when it was polled last because somebody had asked for it, while the
	// server asked to wait.
	forced time.Time
	// unreachable says why the last poll failed, nil when it did not, and
	// failures how many have in a row that have asked the server.
	unreachable error
	failures    int
	// answered is when the repository has last answered; zero for never.
	answered time.Time
	// received is how many bytes the last poll has received.
	received int64
	// expiry is when the client certificate of the last poll expires; zero without one.
	expiry time.Time
	// good and pools are the last good revision, if this process has state one.
	good  string
	pools []render.Definition
	// taken is when it was known to be in the repository.
	taken time.Time
	// applied and appliedPools are the revision that was applied last, if this process has
	// applied one: while a newer one waits for a window, its pools are repaired.
	applied      string
	appliedPools []render.Definition
	// approved are the pools that were deleted because somebody has approved the
	// prune of the last good revision.
	approved []string
	// rest is where the last good revision leaves nothing to do; nil where it does, or did.
	rest *rest
}

// due reports whether it is time to poll the repository: the spec is another one, or the
// period has passed, which is none where somebody asks for a poll.
func (r *Reconciler) due(src *v1.NodePoolSource, state *fetchState) bool {
	return state == nil || state.generation != src.Generation || r.isAwaited(src, state) ||
		r.now().Sub(state.at) >= r.period(src, state.last(src))
}

// next is when the next pass is due: with the next poll, or earlier where the
// pools could not be written.
func (r *Reconciler) next(src *v1.NodePoolSource, state *fetchState, failure error) time.Duration {
	if failure != nil {
		return r.period(src, plan.Poll{At: state.at, Failures: 1})
	}
	return max(r.period(src, state.last(src))-r.now().Sub(state.at), loop.RetryPeriod)
}

func (r *Reconciler) period(src *v1.NodePoolSource, last plan.Poll) time.Duration {
	return plan.PollPeriod(src, last, r.options.MaxRetry)
}

// last is the last poll, for the plan of the next one.
func (state *fetchState) last(src *v1.NodePoolSource) plan.Poll {
	return plan.Poll{
		At: state.at, Failures: state.failures, Credential: state.lacksCredential(), RetryAfter: source.RetryAfter(state.unreachable),
		Requested: state.request != src.Annotations[v1.RequestedAtAnnotation], Forced: state.forced,
	}
}

// poll asks the repository for its revision, and reads it when it is new. It returns
// what is known then; the state before it is not changed.
func (r *Reconciler) poll(ctx context.Context, src *v1.NodePoolSource, before *fetchState) *fetchState {
	state := &fetchState{source: src.UID}
	if before != nil && before.generation == src.Generation {
		*state = *before
	} else if before != nil {
		// Another spec may mean other files at the same revision, but the pools
		// that are in the cluster came from the last good one all the same.
		state.good, state.pools, state.taken = before.good, before.pools, before.taken
		state.applied, state.appliedPools = before.applied, before.appliedPools
		state.answered = before.answered
	}
	if before != nil && before.last(src).Requested && source.RetryAfter(before.unreachable) > 0 {
		state.forced = r.now()
	}
	if before != nil && !state.unread.IsZero() && plan.Rereads(state.unread, before.last(src), r.now()) {
		state.rereads = true
	}
	state.at, state.generation, state.request = r.now(), src.Generation, src.Annotations[v1.RequestedAtAnnotation]
	began, known := state.at, state.known()
	state.unreachable = r.ask(ctx, src, state)
	r.count(src, state, known, r.now().Sub(began))
	if state.unreachable == nil {
		state.failures, state.answered = 0, r.now()
		if state.revision != known && state.refused == nil {
			state.taken = r.now()
		}
		return state
	}
	// The pause begins now: a repository that hangs takes a worker as long as a
	// poll may take.
	state.at = r.now()
	if !state.lacksCredential() {
		state.failures++
	}
	return state
}

// lacksCredential reports whether the last poll has asked no server, as the credential of the source
// cannot be used.
func (state *fetchState) lacksCredential() bool {
	return errors.Is(state.unreachable, source.ErrCredential)
}

// read brings the state up to date with the repository. An error says that the
// repository could not be read; one that a revision is to blame for is kept with
// the revision instead.
func (state *fetchState) read(ctx context.Context, repository source.Repository, layers []string) error {
	revision, snapshot, err := repository.Latest(ctx, state.known())
	switch {
	case revision != "" && source.IsOfRevision(err):
		state.revision, state.refused = revision, &refusal{reason: source.Reason(err), err: err}
		state.unread, state.rereads = time.Time{}, false
		if errors.Is(err, source.ErrTooLarge) {
			state.unread = state.at
		}
		return nil
	case err != nil || snapshot == nil:
		return err
	}
	state.take(ctx, revision, snapshot, layers)
	return nil
}

// known is the revision that need not be read.
func (state *fetchState) known() string {
	if state.rereads {
		return ""
	}
	return state.revision
}

// take loads the pools of a revision. A revision with any problem is refused
// whole, and the last good one stays.
func (state *fetchState) take(ctx context.Context, revision string, snapshot *source.Snapshot, layers []string) {
	state.revision, state.refused = revision, nil
	state.unread, state.rereads = time.Time{}, false
	pools, err := render.Load(snapshot.Files, layers...)
	if err != nil {
		state.refused = &refusal{reason: v1.InvalidReason, err: err}
		return
	}
	log.FromContext(ctx).Info("read revision", "revision", revision, "pools", len(pools))
	state.good, state.pools, state.approved, state.rest = revision, pools, nil, nil
}

// approve adds pools whose deletion is approved, and reports whether there are any
// that were not among them.
func (state *fetchState) approve(names []string) bool {
	before := len(state.approved)
	for _, name := range names {
		if !slices.Contains(state.approved, name) {
			state.approved = append(state.approved, name)
		}
	}
	return len(state.approved) > before
}

// disapprove takes back what is kept after all.
func (state *fetchState) disapprove(kept []string) {
	state.approved = slices.DeleteFunc(state.approved, func(name string) bool { return slices.Contains(kept, name) })
}

// Repository is what a source follows: its URL, its ref and its path. One poll
// takes no longer than the timeout; 0 is git.DefaultTimeout.
func Repository(src *v1.NodePoolSource, timeout time.Duration) *git.Repository {
	repository := &git.Repository{URL: src.Spec.URL, Path: src.Spec.Path, Timeout: timeout}
	if ref := src.Spec.Ref; ref != nil {
		repository.Ref = git.Ref{Branch: ref.Branch, Tag: ref.Tag, Semver: ref.Semver, Commit: ref.Commit}
	}
	return repository
}

func (r *Reconciler) stateOf(src *v1.NodePoolSource) *fetchState {
	r.mu.Lock()
	defer r.mu.Unlock()
	if state := r.states[src.Name]; state != nil && state.source == src.UID {
		return state
	}
	return nil
}

func (r *Reconciler) setState(src *v1.NodePoolSource, state *fetchState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states[src.Name] = state
	r.wakes.polled(src.Name, state.at)
}

// forget discards all that is known of a source.
func (r *Reconciler) forget(name string) {
	r.caches.Drop(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.states, name)
	delete(r.wakes.waiting, name)
	r.wakes.polled(name, r.now())
}

// Kept is how many sources are kept in memory; none that is gone.
func (r *Reconciler) Kept() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.states)
}
