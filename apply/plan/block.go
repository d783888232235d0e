package plan

import (
	"fmt"
	"slices"
	"strings"
)

// ReleaseBlock says which releases of nodes wait for an approval.
type ReleaseBlock struct {
	// Pool is the NodePool that is held; empty where a revision is.
	Pool string
	// Losses exceed the limit, sorted by pool. There are none of a pool that was held before:
	// then noted is the reason in its status.
	Losses []Loss
	noted  string
	// Limit says what is allowed.
	Limit string
	// Approval is the generation that an approval has to name; empty for a revision, which
	// names itself.
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
	// LossEvict: nodes would get a NoExecute taint, which evicts their pods, or another value
	// of one.
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
	// Empties reports that no node would be left in the pool.
	Empties bool `json:"empties,omitempty"`
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
	others := ""
	if l.Others {
		others = " and others"
	}
	switch l.Kind {
	case LossDelete:
		return fmt.Sprintf("the deletion of pool %q%s would release %d of the %d nodes that carry anything of a pool (%s)", l.Pool, others, l.Count, l.Of, names)
	case LossEvict:
		return fmt.Sprintf("pool %q%s would put a NoExecute taint on %d of all %d nodes (%s)", l.Pool, others, l.Count, l.Of, names)
	}
	text := fmt.Sprintf("%d of %d nodes would leave pool %q (%s)", l.Count, l.Of, l.Pool, names)
	if l.Empties {
		text += ", and none would be left"
	}
	return text
}

func (b *ReleaseBlock) Error() string { return b.Reason() + "; " + b.Remedy }

// Reason says what is held back, and why.
func (b *ReleaseBlock) Reason() string {
	held := "the revision is held back"
	if b.Pool != "" {
		held = fmt.Sprintf("pool %q is held", b.Pool)
	}
	if b.noted != "" {
		return b.noted
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
