package nodes

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/plan"
)

// errRefused is that the API server has refused a write, and that fewer pools are left to try.
var errRefused = errors.New("the pools are written in smaller groups")

const (
	// firstRefusal is after what time a pool is tried again whose write the API server has refused.
	// The time doubles with each further refusal, up to maxRefusal.
	firstRefusal = time.Second
	maxRefusal   = 5 * time.Minute
)

// refusals keeps of which pools the API server refuses what they change on nodes. Where it refuses
// a write of several pools, they are written in two groups, the stronger ones first, and so on,
// until it refuses the write of one pool alone: that one is left out, and tried again later.
type refusals struct {
	mu    sync.Mutex
	nodes map[string]*refusedNode
}

// refusedNode has the refused pools of a node, and the groups that are written one after the other;
// the group of this pass is no longer among them.
type refusedNode struct {
	uid    types.UID
	pools  map[string]refusal
	groups []group
}

// refusal is that of a pool as it has been since an epoch. It is tried again from a time on, or
// when the pool is another one.
type refusal struct {
	plan.Refusal
	since  uint64
	until  time.Time
	period time.Duration
}

// group are pools that wait until others have been written, or refused.
type group map[string]plan.Refusal

func newRefusals() *refusals { return &refusals{nodes: map[string]*refusedNode{}} }

// of are the pools that are left out of the next write of a node.
func (r *refusals) of(node string, uid types.UID, pools *fleet.Snapshot, now time.Time) map[string]plan.Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.nodes[node]
	if known == nil {
		return nil
	}
	if known.uid != uid {
		delete(r.nodes, node)
		return nil
	}
	left := map[string]plan.Refusal{}
	for pool, one := range known.pools {
		if one.since == pools.Since(pool) && now.Before(one.until) {
			left[pool] = one.Refusal
		}
	}
	for _, group := range known.groups {
		maps.Copy(left, group)
	}
	return left
}

// refuse notes that a write was refused which changes something for these pools, the strongest
// first, and reports whether fewer of them are left to try. Where there are none, nobody is to blame.
func (r *refusals) refuse(node *plan.NodeState, changing []string, of func(pool string) plan.Refusal, pools *fleet.Snapshot, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(changing) == 0 {
		return false
	}
	known := r.nodes[node.Name]
	if known == nil || known.uid != node.UID {
		known = &refusedNode{uid: node.UID, pools: map[string]refusal{}}
		r.nodes[node.Name] = known
	}
	if len(changing) > 1 {
		later := group{}
		for _, pool := range changing[(len(changing)+1)/2:] {
			later[pool] = of(pool)
		}
		known.groups = slices.Insert(known.groups, 0, later)
		return true
	}
	pool := changing[0]
	since, before := pools.Since(pool), known.pools[pool]
	period := firstRefusal
	if before.since == since {
		period = min(max(period, 2*before.period), maxRefusal)
	}
	known.pools[pool] = refusal{of(pool), since, now.Add(period), period}
	known.next()
	return true
}

// take notes that a node was written without the pools that were left out, while those of the wait
// had to wait; whole reports that it was more than the walls. It reports whether there are more to
// try at once.
func (r *refusals) take(node string, left map[string]plan.Refusal, wait plan.NodeWait, whole bool) (more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.nodes[node]
	if known == nil {
		return false
	}
	maps.DeleteFunc(known.pools, func(pool string, _ refusal) bool {
		_, out := left[pool]
		return whole && !out && wait.Of(pool) == nil
	})
	more = known.next()
	if len(known.pools) == 0 && !more {
		delete(r.nodes, node)
	}
	return more
}

// next has the next group written, and reports whether there is one.
func (n *refusedNode) next() bool {
	if len(n.groups) == 0 {
		return false
	}
	n.groups = n.groups[1:]
	return true
}

// again is after what time the first pool of a node is tried again; 0 for none.
func (r *refusals) again(node string, pools *fleet.Snapshot, now time.Time) (after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.nodes[node]
	if known == nil {
		return 0
	}
	for pool, one := range known.pools {
		if rest := one.until.Sub(now); rest > 0 && one.since == pools.Since(pool) {
			after = loop.Sooner(after, max(rest, loop.AtOnce))
		}
	}
	return after
}

func (r *refusals) forget(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.nodes, node)
}

// said is what the API server says of a node in a refusal, without its name, so that many nodes
// share the text.
func said(node string, refusal error) string {
	text := refusal.Error()
	if status := apierrors.APIStatus(nil); errors.As(refusal, &status) {
		text = status.Status().Message
	}
	for _, kind := range []string{"forbidden", "invalid"} {
		text = strings.TrimPrefix(text, fmt.Sprintf("nodes %q is %s: ", node, kind))
	}
	return "could not be written: " + apply.Brief(errors.New(text))
}

// observeRefusals notes of the pools that wait for it what the API server says.
func observeRefusals(found *observed, wait plan.NodeWait) {
	for _, one := range wait {
		if !one.Refused {
			continue
		}
		if found.Refused == nil {
			found.Refused = map[string]string{}
		}
		found.Refused[one.Pool] = one.Obstacle
	}
}
