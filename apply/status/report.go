package status

import (
	"cmp"
	"slices"
	"strings"
	"time"

	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// Cluster is what a report is made of.
type Cluster struct {
	Sources []*v1.NodePoolSource
	Pools   []*v1.NodePool
	// Nodes are all of them, or none where they are not known.
	Nodes []Node
	// Waiting are the pods that have no node, and Classes the RuntimeClasses; none where pods
	// are not known.
	Waiting []plan.WaitingPod
	Classes []*nodev1.RuntimeClass
}

// Node is a node, and whether its condition Ready is true.
type Node struct {
	*plan.NodeState
	Ready bool
}

// Report is how far nodes are in following their pools. The names of its fields are
// documented, and stay.
type Report struct {
	// Sources are sorted as pools are; none where a pool is named.
	Sources []Source `json:"sources,omitempty"`
	// Pools are sorted: those that need a person first, then by name.
	Pools []Pool `json:"pools"`

	now time.Time
}

// Pool is how far nodes are in following one pool.
type Pool struct {
	Name  string `json:"name"`
	Phase Phase  `json:"phase"`
	// Reason and Message are those of the condition of the pool, Since its last transition,
	// and Condition its type: Stalled, Reconciling or Ready.
	Reason    string       `json:"reason,omitempty"`
	Message   string       `json:"message,omitempty"`
	Condition string       `json:"condition,omitempty"`
	Since     *metav1.Time `json:"since,omitempty"`
	Revision  string       `json:"revision,omitempty"`
	// WaitsFor says in short what is waited for.
	WaitsFor string `json:"waitsFor,omitempty"`
	// Nodes is nil where no controller has reported any.
	Nodes *Nodes `json:"nodes,omitempty"`
	// NextWindow is when the first node may follow.
	NextWindow *Moment `json:"nextWindow,omitempty"`
	Halt       *Halt   `json:"halt,omitempty"`
	// PodsStranded are nil where there are none, or where pods are not known.
	PodsStranded *PodsStranded `json:"podsStranded,omitempty"`
	// Waves are those of the pool, the rest last; none where it has none, or where nodes are
	// not known.
	Waves []Wave `json:"waves,omitempty"`
	// Steps are what a person can do so that it goes on.
	Steps []Step `json:"steps,omitempty"`
}

// Nodes counts the nodes of a pool. The first four numbers are those of its status.
type Nodes struct {
	Desired int `json:"desired"`
	Updated int `json:"updated"`
	Ready   int `json:"ready"`
	Waiting int `json:"waiting"`
	// Unavailable, Settling and Failed are nil where nodes are not known, or where no pool has
	// a rollout.
	Unavailable *int `json:"unavailable,omitempty"`
	Settling    *int `json:"settling,omitempty"`
	Failed      *int `json:"failed,omitempty"`
}

// Moment is a time by the clocks of a zone, and in UTC.
type Moment struct {
	InZone string `json:"inZone"`
	UTC    string `json:"utc"`

	at time.Time
}

func momentOf(t time.Time) *Moment {
	return &Moment{InZone: t.Format(time.RFC3339), UTC: t.UTC().Format(time.RFC3339), at: t}
}

// Halt is why no further node follows.
type Halt struct {
	Time  metav1.Time `json:"time"`
	Nodes int32       `json:"nodes"`
	Node  string      `json:"node"`
}

// Of reports how far nodes are in following the pools of a cluster, at a time.
func Of(cluster Cluster, now time.Time) *Report {
	turns, stranded := turnsOf(cluster, now), strandedOf(cluster)
	report := &Report{Sources: sourcesOf(cluster.Sources), Pools: make([]Pool, 0, len(cluster.Pools)), now: now}
	for _, pool := range cluster.Pools {
		of := poolOf(pool, turns, now)
		of.strand(stranded[v1.RuntimeClassName(pool.Name)])
		report.Pools = append(report.Pools, of)
	}
	slices.SortFunc(report.Pools, func(a, b Pool) int {
		return cmp.Or(cmp.Compare(a.Phase.rank(), b.Phase.rank()), strings.Compare(a.Name, b.Name))
	})
	return report
}

// Only is the report of one pool, and whether there is one of that name.
func (r *Report) Only(pool string) (*Report, bool) {
	at := slices.IndexFunc(r.Pools, func(p Pool) bool { return p.Name == pool })
	if at < 0 {
		return nil, false
	}
	return &Report{Pools: r.Pools[at : at+1], now: r.now}, true
}

// Complete reports whether all nodes have followed all pools, and these are of the newest
// revisions of all sources that are not paused.
func (r *Report) Complete() bool {
	return !slices.ContainsFunc(r.Sources, func(s Source) bool { return s.Phase != Complete && s.Phase != Paused }) &&
		!slices.ContainsFunc(r.Pools, func(p Pool) bool { return p.Phase != Complete && p.Phase != Empty })
}

// Failed reports whether a pool is halted, or a source or a pool is stalled.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Sources, func(s Source) bool { return s.Phase.Failed() }) ||
		slices.ContainsFunc(r.Pools, func(p Pool) bool { return p.Phase.Failed() })
}

func poolOf(pool *v1.NodePool, turns *turns, now time.Time) Pool {
	p := Pool{Name: pool.Name, Phase: phaseOf(pool), Revision: pool.Annotations[v1.RevisionAnnotation]}
	if condition := conditionOf(pool.Status.Conditions); condition != nil {
		p.Reason, p.Message, p.Condition = condition.Reason, condition.Message, condition.Type
		p.Since = &condition.LastTransitionTime
	}
	p.Waves = wavesOf(pool, turns, now)
	p.Nodes = nodesOf(pool, turns, now)
	p.NextWindow = nextWindow(pool, turns)
	if halt := halted(pool); halt != nil {
		p.Halt = &Halt{Time: halt.Time, Nodes: halt.Nodes, Node: halt.Node}
	}
	p.WaitsFor, p.Steps = waitsFor(pool, p, turns), stepsOf(pool, p.Phase, turns)
	return p
}

// nextWindow is when the first node may follow, in the zone of the windows that are waited
// for.
func nextWindow(pool *v1.NodePool, turns *turns) *Moment {
	status := pool.Status.Rollout
	if status == nil || status.NextWindow == nil {
		return nil
	}
	next := status.NextWindow.UTC()
	if wait := turns.first(pool.Name); wait != nil && !wait.Next.IsZero() {
		return momentOf(next.In(wait.Next.Location()))
	}
	if calendar := pool.Calendar(); calendar != nil {
		return momentOf(next.In(calendar.Zone()))
	}
	return momentOf(next)
}
