package plan

import "reflect"

// Problem is something that a plan leaves alone and reports.
type Problem struct {
	Kind ProblemKind
	// Pool and Node are what the problem is about. One of a node has no pool, and one
	// of a pool or of its RuntimeClass no node.
	Pool, Node string
	// Err says what the problem is, and names its subject.
	Err error
}

// ProblemKind is what sort of thing is left alone, and why.
type ProblemKind string

// The kinds of problems.
const (
	// PoolInvalid is a pool that cannot be carried out.
	PoolInvalid ProblemKind = "PoolInvalid"
	// PoolPaused is a pool that its annotation pauses.
	PoolPaused ProblemKind = "PoolPaused"
	// PoolStays is a deleted pool that something keeps: paused nodes, or finalizers of
	// others.
	PoolStays ProblemKind = "PoolStays"
	// PoolRecreated is a pool that goes before it is created again.
	PoolRecreated ProblemKind = "PoolRecreated"
	// RuntimeClassTaken is a RuntimeClass that is not the pool's, or is being deleted.
	RuntimeClassTaken ProblemKind = "RuntimeClassTaken"
	// NodePaused is a node that its annotation pauses.
	NodePaused ProblemKind = "NodePaused"
	// NodeUnreadable is a node whose record cannot be read.
	NodeUnreadable ProblemKind = "NodeUnreadable"
	// Refused is a write that the API server would refuse.
	Refused ProblemKind = "Refused"
)

// Error implements error.
func (p Problem) Error() string { return p.Err.Error() }

// Unwrap returns the cause.
func (p Problem) Unwrap() error { return p.Err }

// ProblemSet finds a problem among others.
type ProblemSet map[problemSubject][]error

type problemSubject struct {
	kind       ProblemKind
	pool, node string
}

// NewProblemSet returns the set of some problems.
func NewProblemSet(problems []Problem) ProblemSet {
	set := ProblemSet{}
	for _, problem := range problems {
		set[problem.subject()] = append(set[problem.subject()], problem.Err)
	}
	return set
}

// Has reports whether the set has a problem: of the same kind, about the same object,
// and with the same cause. Causes are compared by their fields.
func (s ProblemSet) Has(problem Problem) bool {
	for _, cause := range s[problem.subject()] {
		if reflect.DeepEqual(cause, problem.Err) {
			return true
		}
	}
	return false
}

func (p Problem) subject() problemSubject { return problemSubject{p.Kind, p.Pool, p.Node} }
