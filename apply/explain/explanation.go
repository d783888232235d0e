package explain

import (
	"errors"
	"time"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/api/sanitize"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/render"
)

// Explanation is everything on a node and who owns it. The names of its fields are
// documented, and stay.
type Explanation struct {
	Node string `json:"node"`
	// Paused is true where the node's annotation keeps everything from being written.
	Paused bool `json:"paused,omitempty"`
	// Problem is why the record cannot be read.
	Problem string       `json:"problem,omitempty"`
	Pools   []Pool       `json:"pools,omitempty"`
	Keys    []Key        `json:"keys,omitempty"`
	Record  *plan.Record `json:"record,omitempty"`

	unreadable *plan.RecordError
}

// Node explains a node by the pools of its cluster, at a time: windows of pools may be
// closed then. Which other nodes a pool is waiting for is read from the pool's status, so
// the other nodes are not needed.
func Node(node *plan.NodeState, pools []*v1.NodePool, now time.Time) *Explanation {
	accepted := plan.AcceptanceOf(pools, nil)
	expansion := render.Expand(accepted.Pools)
	found := plan.Explain(node, expansion, plan.NodeFacts{Rollouts: plan.RolloutsOf(accepted.Pools), Now: now})
	e := &Explanation{Node: node.Name, Paused: found.Paused, unreadable: found.Unreadable}
	var record plan.Record
	if found.Unreadable != nil {
		e.Problem = found.Unreadable.Err.Error()
	} else if record = found.Plan.Recorded(); !record.Empty() {
		e.Record = &record
	}
	for _, status := range found.Keys {
		e.Keys = append(e.Keys, keyOf(status))
	}
	e.addFiles(pools)
	e.addContests(pools)
	e.Pools = poolsOf(pools, accepted, expansion, found, record)
	return e
}

// Err returns why the record of the node cannot be read, and what to do about it; nil
// where it can.
func (e *Explanation) Err() error {
	if e.unreadable == nil {
		return nil
	}
	remedy := "the node is left alone until the annotation is repaired, or removed: then all that stands on the node counts as its own"
	if errors.Is(e.unreadable, plan.ErrNewerRecord) {
		remedy = "ask with the version of nodepools that runs in the cluster, or a later one"
	}
	return hint.Add(errors.New(sanitize.Line(e.unreadable.Error())), remedy)
}

// addFiles adds to the keys which files of later layers set them.
func (e *Explanation) addFiles(pools []*v1.NodePool) {
	files := map[string]map[string]string{}
	for _, pool := range pools {
		files[pool.Name] = plan.LayerFiles(pool)
	}
	for i := range e.Keys {
		k := &e.Keys[i]
		k.File = files[k.Pool][k.Field.PathIn(k.Key)]
	}
}

// addContests adds to the keys what the statuses of pools say of contests.
func (e *Explanation) addContests(pools []*v1.NodePool) {
	contests, _ := plan.ContestsOf(pools)
	for _, contest := range contests {
		named, possible := contest.On(e.Node)
		for i := range e.Keys {
			k := &e.Keys[i]
			if !possible || k.Field != contest.Field || k.Key != contest.Key || k.Pool != contest.Pool && k.Pool != "" {
				continue
			}
			k.Contests = append(k.Contests, Contest{
				Pool: contest.Pool, Nodes: contest.Nodes, Named: named, Managers: contest.Managers, Repairs: contest.Repairs,
				Message: review.Contest(contest).Text(),
			})
		}
	}
}
