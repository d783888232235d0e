package nodes

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller/loop"
)

// AbsentTries is how many passes in a row end without a report because the API server does not
// have a node that the cache has. With the pauses of [loop.WithBackoff] they take some three
// seconds, longer than the event of a deletion does; after them it is a failure like any other.
const AbsentTries = 5

// absentError is the answer to a request for a node that there is no such node. No other
// NotFound is one: a list of pools is answered so while their definition is being deleted.
type absentError struct{ error }

func (e absentError) Unwrap() error { return e.error }

// ofNode returns the error of a request for a node, as an absentError where it is that. What an
// admission webhook answers is a refusal, whatever its code.
func ofNode(err error) error {
	if apierrors.IsNotFound(err) && !apply.IsRefused(err) {
		return absentError{err}
	}
	return err
}

func isAbsent(err error) bool { return errors.As(err, new(absentError)) }

// absent ends a pass over a node that the API server says it does not have. The node is gone
// when the cache does not have it either. While the cache has it, the event of a deletion need
// not follow: a proxy may answer so for a node that exists, and one that is given up would keep
// its place in the budgets and hold up the turns of all others. So the pass is repeated: at
// first without a report, as mostly the cache is behind by a moment.
func (r *Reconciler) absent(ctx context.Context, name string, found *observed, answer error) error {
	_, err := r.cached.Node(ctx, name)
	switch {
	case apierrors.IsNotFound(err):
		r.forget(name)
		return nil
	case err != nil:
		return err
	case r.absences.more(name) <= AbsentTries:
		return fmt.Errorf("node %q is not found: %w", name, loop.ErrBehind)
	}
	if found != nil {
		found.Failed = true
		r.fleet.Report(name, found.Observation, found.results)
	}
	return answer
}

// forget drops a node that is gone.
func (r *Reconciler) forget(name string) {
	r.fleet.Forget(name)
	r.repairs.forget(name)
	r.drained.forget(name)
	r.refusals.forget(name)
	r.pending.forget(name)
	r.absences.forget(name)
}

// absences counts in how many passes in a row the API server did not have a node that the cache
// has.
type absences struct {
	mu    sync.Mutex
	nodes map[string]int
}

func newAbsences() *absences { return &absences{nodes: map[string]int{}} }

// more counts one more pass of a node, and returns how many these are.
func (a *absences) more(node string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nodes[node]++
	return a.nodes[node]
}

func (a *absences) forget(node string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.nodes, node)
}
