package sources

import (
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/metrics"
	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/git"
)

// count counts a poll, of a source of which a revision was known.
func (r *Reconciler) count(src *v1.NodePoolSource, state *fetchState, known string, took time.Duration) {
	result, reason := metrics.Changed, v1.SucceededReason
	switch {
	case state.unreachable != nil:
		result, reason = metrics.PollFailed, source.Reason(state.unreachable)
	case state.revision == known:
		result = metrics.Unchanged
	case state.refused != nil:
		result, reason = metrics.RevisionRefused, state.refused.reason
	}
	r.options.Metrics.SourcePolled(src.Name, result, reason, took, state.received)
}

// expiryOf is when the client certificate expires that a repository is read with; the
// zero time without one.
func expiryOf(repository *git.Repository) time.Time {
	if repository.Certificate == nil || repository.Certificate.Leaf == nil {
		return time.Time{}
	}
	return repository.Certificate.Leaf.NotAfter
}

// Polls returns what the last polls have found, by the name of the source.
func (r *Reconciler) Polls() map[string]metrics.Poll {
	r.mu.Lock()
	defer r.mu.Unlock()
	polls := make(map[string]metrics.Poll, len(r.states))
	for name, state := range r.states {
		polls[name] = metrics.Poll{LastSuccess: state.answered, CredentialExpiry: state.expiry}
	}
	return polls
}
