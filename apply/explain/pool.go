package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// Pool is a pool that the node is in, or that has keys in its record.
type Pool struct {
	Name   string `json:"name"`
	Member bool   `json:"member"`
	// State is active, paused, error, deleting or gone; Problem says more of an
	// error.
	State State `json:"state"`
	// Deleting is true also of a paused pool, which stays until it is resumed.
	Deleting bool   `json:"deleting,omitempty"`
	Problem  string `json:"problem,omitempty"`
	// Holds reports that what the pool put on the node stays as it is: it is not known what the
	// node is to follow of it.
	Holds bool `json:"holds,omitempty"`
	// ChosenBy is how the pool chooses its members.
	ChosenBy string `json:"chosenBy,omitempty"`
	Parent   string `json:"parent,omitempty"`
	// Source, File and Revision are where the pool comes from; none of a
	// pool that was made by hand.
	Source   string `json:"source,omitempty"`
	File     string `json:"file,omitempty"`
	Revision string `json:"revision,omitempty"`
	// Followed is what the node has followed last in the rollout of the pool; nil where that is
	// nothing, or long ago.
	Followed *Followed `json:"followed,omitempty"`
	// Wait is why the node does not follow the pool yet.
	Wait *Wait `json:"wait,omitempty"`
	// Unavailable is why the node counts as unavailable in the rollout of the pool, as "is
	// cordoned", "has condition GPUHealthy=False" or "settles until TIME".
	Unavailable string `json:"unavailable,omitempty"`
}

// Followed is what a node has followed of a pool.
type Followed struct {
	// At is when it began.
	At metav1.Time `json:"at"`
	// Commit is that by which the pool said it, in short; empty where that is not known.
	Commit string `json:"commit,omitempty"`
}

// Wait is why a node does not follow changes of a pool yet.
type Wait struct {
	// For are the pools whose rollouts are closed, or in which nodes take turns.
	For []string `json:"for"`
	// NextWindow is when all of them are open; none where no such time was found.
	NextWindow *metav1.Time `json:"nextWindow,omitempty"`
	Message    string       `json:"message"`
}

func waitOf(wait *plan.PoolWait, live map[string]*v1.NodePool) *Wait {
	if wait == nil {
		return nil
	}
	w := &Wait{For: wait.For, Message: wait.String()}
	if pool := live[wait.Pool]; pool != nil && wait.Turn {
		w.Message += usedUp(pool, w.Message)
	}
	for _, name := range wait.For {
		if pool := live[name]; wait.Turn && pool != nil && plan.HaltOf(pool).Holds() {
			w.Message += fmt.Sprintf("; the rollout of pool %q is halted %s", name, plan.HaltOf(pool))
		}
	}
	if !wait.Next.IsZero() {
		w.NextWindow = &metav1.Time{Time: wait.Next}
	}
	return w
}

// usedUp is what the status of a pool says, after what its changes wait for, of the nodes that use
// up the budget; empty where the status is of something else.
func usedUp(pool *v1.NodePool, wait string) string {
	reconciling := meta.FindStatusCondition(pool.Status.Conditions, v1.ReconcilingCondition)
	if reconciling == nil || reconciling.Reason != v1.WaitingForBudgetReason || pool.Status.ObservedGeneration != pool.Generation {
		return ""
	}
	_, after, _ := strings.Cut(reconciling.Message, wait)
	return after
}

// State is what a pool does about a node.
type State string

// The states of a pool.
const (
	Active   State = "active"
	Paused   State = "paused"
	Failed   State = "error" // it cannot be carried out
	Deleting State = "deleting"
	Gone     State = "gone" // there is no such pool any more
)

// poolsOf are the pools that the node is in, and those that it carries keys
// of.
func poolsOf(pools []*v1.NodePool, accepted *plan.Acceptance, expansion *render.Expansion, found *plan.Explanation, record plan.Record) []Pool {
	live, followed := byName(pools), byName(accepted.Pools)
	concerned := record.Pools()
	for _, name := range found.Members {
		concerned[name] = true
	}
	var all []Pool
	for _, name := range slices.Sorted(maps.Keys(concerned)) {
		p := Pool{Name: name, Member: slices.Contains(found.Members, name), State: Gone, Wait: waitOf(found.Wait.Of(name), live), Unavailable: found.Unavailable[name]}
		if change, has := record.Change.Pools[name]; has {
			p.Followed = &Followed{At: metav1.Time{Time: change.At}, Commit: change.Commit}
		}
		if pool := live[name]; pool != nil {
			p.describe(pool, accepted, expansion)
			if as := followed[name]; as != nil {
				p.Parent, p.ChosenBy = as.Spec.Parent, chosenBy(as)
			}
		}
		all = append(all, p)
	}
	return all
}

func (p *Pool) describe(pool *v1.NodePool, accepted *plan.Acceptance, pools *render.Expansion) {
	p.State, p.Parent, p.ChosenBy = Active, pool.Spec.Parent, chosenBy(pool)
	p.Deleting = !pool.DeletionTimestamp.IsZero()
	switch plan.PoolStateOf(pool, accepted, pools) {
	case plan.PoolStatePaused:
		p.State = Paused
	case plan.PoolStateBlocked:
		p.State, p.Problem = Failed, plan.BlockOf(pool).Error()
	case plan.PoolStateFaulty:
		p.State, p.Holds = Failed, pools.Holds(pool.Name)
		if pending := accepted.Pending(pool.Name); pending != nil && pending.Problem != nil {
			p.Problem = pending.Problem.Error()
		} else {
			p.Problem = pools.Problem(pool.Name).Error()
		}
	case plan.PoolStateReleasing:
		p.State = Deleting
	}
	p.Source, p.Revision = pool.Labels[v1.SourceLabel], pool.Annotations[v1.RevisionAnnotation]
	p.File = pool.Annotations[v1.FileAnnotation]
}

func byName(pools []*v1.NodePool) map[string]*v1.NodePool {
	named := make(map[string]*v1.NodePool, len(pools))
	for _, pool := range pools {
		named[pool.Name] = pool
	}
	return named
}

func chosenBy(pool *v1.NodePool) string {
	switch {
	case pool.Spec.Selector != nil:
		return "selector " + metav1.FormatLabelSelector(pool.Spec.Selector.MetaV1())
	case len(pool.Spec.NodeNames) > 0:
		return "name " + strings.Join(pool.Spec.NodeNames, ", ")
	default:
		return "label " + v1.RoleLabel(pool.Name)
	}
}
