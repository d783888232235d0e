package plan

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Contest is a key of a node that somebody else keeps changing, and that is put
// back each time, more and more rarely.
type Contest struct {
	Field Field  `json:"field"`
	Key   string `json:"key"`
	// Pool that the key is put back for.
	Pool string `json:"pool"`
	// Managers are the field managers that were found to own the key while it had
	// to be put back, sorted and without ours, three at most. Managed fields name
	// nobody for a label or an annotation that is gone, and for a taint whoever
	// wrote the list of taints last.
	Managers []string `json:"managers,omitempty"`
	// Repairs is how often the key was put back, at least.
	Repairs int `json:"repairs"`
}

// Equal reports whether two contests say the same.
func (c Contest) Equal(other Contest) bool {
	return c.Field == other.Field && c.Key == other.Key && c.Pool == other.Pool && c.Repairs == other.Repairs &&
		slices.Equal(c.Managers, other.Managers)
}

// PoolContest is a contested key of a pool, on all nodes on which it is, as the
// status of the pool has it.
type PoolContest struct {
	Pool  string `json:"pool"`
	Field Field  `json:"field"`
	Key   string `json:"key"`
	// Nodes is how many there are, NodeNames are the first of them, sorted.
	Nodes     int      `json:"nodes"`
	NodeNames []string `json:"nodeNames"`
	Managers  []string `json:"managers"`
	Repairs   int      `json:"repairs"`
}

// ContestsOf are the contested keys that the statuses of pools name, in the order
// of the pools, and how many there are besides.
func ContestsOf(pools []*v1.NodePool) (contests []PoolContest, more int) {
	for _, pool := range pools {
		status := pool.Status.Contests
		if status == nil {
			continue
		}
		for _, key := range status.First {
			contests = append(contests, PoolContest{
				Pool: pool.Name, Field: Field(key.Field), Key: key.Key, Nodes: int(key.Nodes), Repairs: int(key.Repairs),
				NodeNames: append([]string{}, key.NodeNames...), Managers: append([]string{}, key.Managers...),
			})
		}
		more += max(0, int(status.Keys)-len(status.First))
	}
	return contests, more
}

// On reports whether the key is contested on a node, and whether that may be so: of
// many nodes the status names the first alone.
func (c PoolContest) On(node string) (named, possible bool) {
	named = slices.Contains(c.NodeNames, node)
	return named, named || c.Nodes > len(c.NodeNames)
}

// Who says who keeps changing the key, as far as that is known.
func (c PoolContest) Who() string {
	names := make([]string, 0, len(c.Managers))
	for _, manager := range c.Managers {
		names = append(names, ManagerName(manager))
	}
	switch {
	case len(names) == 0:
		return "somebody whom managed fields do not name"
	case c.Field == Taint:
		return "somebody (" + and(names) + " wrote the taints last)"
	default:
		return and(names)
	}
}

// Where names the nodes, as far as they are known.
func (c PoolContest) Where() string {
	names := strings.Join(c.NodeNames, ", ")
	switch more := c.Nodes - len(c.NodeNames); {
	case len(c.NodeNames) == 1 && more == 0:
		return "node " + names
	case more <= 0:
		return "nodes " + names
	default:
		return fmt.Sprintf("nodes %s and %d more", names, more)
	}
}

// Frequency says how often the key is put back.
func (c PoolContest) Frequency() string {
	return fmt.Sprintf("it was put back at least %d times, and is put back once a minute at most", c.Repairs)
}

// String describes the contest.
func (c PoolContest) String() string {
	return fmt.Sprintf("%s %s on %s is changed again and again by %s; %s", c.Field, c.Key, c.Where(), c.Who(), c.Frequency())
}
