package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// ReleaseBlock says which releases of nodes wait for an approval.
type ReleaseBlock struct {
	// Pool is the NodePool that is held; empty where a revision is.
	Pool string
	// Losses exceed the limit, sorted by pool. There are none of a pool that was
	// blocked before, and that is within the limit by now.
	Losses []Loss
	// Limit is what spec.releaseLimit says, or the default.
	Limit string
	// Approval is the value of the annotation that approves what is held; empty where none
	// does, and for a revision, which names itself.
	Approval string
	// Remedy says what to do.
	Remedy string
}

// LossKind is what happens to the nodes of a [Loss].
type LossKind string

// The kinds of losses.
const (
	// LossLeave: nodes would leave a pool.
	LossLeave LossKind = "leave"
	// LossDelete: the pool would be deleted.
	LossDelete LossKind = "delete"
	// LossGone: the pool is gone, and has not released its nodes.
	LossGone LossKind = "gone"
	// LossEvict: nodes would get a NoExecute taint, which evicts their pods, if the pool has
	// its way there.
	LossEvict LossKind = "evict"
)

// Loss is how many nodes are concerned, in one pool.
type Loss struct {
	Pool string   `json:"pool"`
	Kind LossKind `json:"kind"`
	// Others reports that more pools would be deleted with it, or evict.
	Others bool `json:"others,omitempty"`
	// Nodes are the names of the first three.
	Nodes []string `json:"nodes"`
	// Count is how many nodes there are.
	Count int `json:"count"`
	// Of is what a percentage is of: the nodes of the pool, or all.
	Of int `json:"of"`
}

// maxLossNodes is how many nodes a loss names.
const maxLossNodes = 3

func (l *Loss) add(node string) {
	l.Count++
	// The first by name, in whatever order they come.
	at, _ := slices.BinarySearch(l.Nodes, node)
	if at < maxLossNodes {
		l.Nodes = slices.Insert(l.Nodes, at, node)
		l.Nodes = l.Nodes[:min(len(l.Nodes), maxLossNodes)]
	}
}

// addOf adds a node once that some pools concern, sorted. The first one by name is named.
func (l *Loss) addOf(pools []string, node string) {
	if len(pools) == 0 {
		return
	}
	l.Others = l.Others || len(pools) > 1 || l.Pool != "" && l.Pool != pools[0]
	if l.Pool == "" || pools[0] < l.Pool {
		l.Pool = pools[0]
	}
	l.add(node)
}

func (l Loss) String() string {
	names := strings.Join(l.Nodes, ", ")
	if more := l.Count - len(l.Nodes); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	others, wants := "", "wants"
	if l.Others {
		others, wants = " and others", "want"
	}
	switch l.Kind {
	case LossGone:
		return fmt.Sprintf("%d of the %d nodes that carry anything of a pool carry what it has put there (%s)", l.Count, l.Of, names)
	case LossDelete:
		return fmt.Sprintf("the deletion of pool %q%s would release %d of the %d nodes that carry anything of a pool (%s)", l.Pool, others, l.Count, l.Of, names)
	case LossEvict:
		return fmt.Sprintf("pool %q%s %s a NoExecute taint on %d of all %d nodes, which do not have it (%s)", l.Pool, others, wants, l.Count, l.Of, names)
	default:
		return fmt.Sprintf("%d of %d nodes would leave pool %q (%s)", l.Count, l.Of, l.Pool, names)
	}
}

func (b *ReleaseBlock) Error() string { return b.Reason() + "; " + b.Remedy }

// Reason says what is held back, and why.
func (b *ReleaseBlock) Reason() string {
	held := "the revision is held back"
	if b.Pool != "" {
		held = fmt.Sprintf("pool %q is held", b.Pool)
	}
	if len(b.Losses) == 0 {
		return held + ": it was blocked by the limit on releases, and nobody has approved it"
	}
	texts := make([]string, 0, maxLosses)
	for _, loss := range b.Named() {
		texts = append(texts, loss.String())
	}
	if more := len(b.Losses) - maxLosses; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more pools", more))
	}
	return fmt.Sprintf("%s: %s; the limit is %s", held, strings.Join(texts, "; "), b.Limit)
}

// Named are the losses that the reason names; the others it counts.
func (b *ReleaseBlock) Named() []Loss { return b.Losses[:min(len(b.Losses), maxLosses)] }

// maxLosses is how many losses a reason names.
const maxLosses = 5

// exceedsReleaseLimit reports whether a number of nodes is too many. Few nodes are
// never limited. A limit that cannot be read lets nothing through.
func exceedsReleaseLimit(limit intstr.IntOrString, count, of int) bool {
	if count == 0 || of < v1.MinReleaseLimited {
		return false
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(&limit, of, true)
	return err != nil || count > most
}

// leavesAlone reports whether no pool can take anything off a node: it is paused.
func leavesAlone(node *NodeState) bool { return v1.IsDisabled(node, v1.ReconcileAnnotation) }
