package plan

import (
	"fmt"
	"testing"

	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// reported writes an outcome in a few words.
func (o PoolOutcome) reported() string {
	text := string(o.State)
	if o.Finalizer != FinalizerKept {
		text += ", finalizer " + string(o.Finalizer)
	}
	switch {
	case o.ClassProblem != nil:
		text += ", class not ours"
	case o.RuntimeClass != nil:
		text += ", class " + fmt.Sprintf("%q", o.RuntimeClass.Action)
	}
	return text
}

func TestPoolOutcome(t *testing.T) {
	deleted := func(pool *v1.NodePool) *v1.NodePool {
		pool.DeletionTimestamp = ptr.To(metav1.Unix(0, 0))
		return pool
	}
	a := func() *v1.NodePool { return define("a", v1.NodePoolSpec{}) }
	policy := func() *v1.NodePool {
		return define("a", v1.NodePoolSpec{NodeNames: []string{"*"}, Rollout: &v1.Rollout{Paused: true}})
	}
	inner := func() *v1.NodePool { return define("a", v1.NodePoolSpec{Parent: "outer"}) }
	held := &Pending{Reason: PendingApproval, Block: &ReleaseBlock{Pool: "a"}}
	foreign := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: v1.RuntimeClassName("a")}}
	cases := map[string]struct {
		reason string
		pool   *v1.NodePool
		others []*v1.NodePool
		held   *Pending
		// unaccepted reports that nothing of it was accepted yet.
		unaccepted bool
		class      *nodev1.RuntimeClass
		facts      PoolFacts
		want       string
		// releases reports whether it goes when no node carries anything.
		releases bool
	}{
		"new":       {reason: "it is carried out", pool: a(), want: `active, finalizer ensured, class "create"`},
		"unchanged": {reason: "nothing is written", pool: a(), class: ownedClass(a(), nil), want: `active, finalizer ensured, class ""`},
		"class of somebody else": {
			reason: "it is reported, and nothing is taken", pool: a(), class: foreign, want: "active, finalizer ensured, class not ours",
		},
		"rollout policy": {reason: "pods do not name it", pool: policy(), want: "active, finalizer ensured"},
		"became a rollout policy": {
			reason: "no node has its role label any more", pool: policy(), class: ownedClass(a(), nil), want: `active, finalizer ensured, class "delete"`,
		},
		"becomes a rollout policy": {
			reason: "pods find the nodes that still have its role label", pool: policy(), class: ownedClass(a(), nil), facts: PoolFacts{Carried: true},
			want: "active, finalizer ensured",
		},
		"rollout policy, class of somebody else": {reason: "it is in nobody's way", pool: policy(), class: foreign, want: "active, finalizer ensured"},
		"no rollout policy any more": {
			reason: "it has a handler, and so a RuntimeClass", pool: define("a", v1.NodePoolSpec{Rollout: &v1.Rollout{}, Handler: "runc"}),
			want: `active, finalizer ensured, class "create"`,
		},
		"paused": {reason: "nodes follow what was accepted", pool: paused(a()), want: `paused, finalizer ensured, class "create"`},
		"deleted": {
			reason: "the garbage collector takes the class", pool: deleted(a()), class: ownedClass(a(), nil),
			want: "releasing, finalizer released", releases: true,
		},
		"blocked":         {reason: "nodes follow what was accepted", pool: a(), held: held, class: ownedClass(a(), nil), want: `blocked, finalizer ensured, class ""`},
		"new and blocked": {reason: "nothing was accepted", pool: a(), held: held, unaccepted: true, want: "blocked"},
		"within no pool":  {reason: "its parent does not exist", pool: inner(), want: "faulty"},
		"paused within no pool": {
			reason: "the pause comes first", pool: paused(inner()), want: "paused",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			accepted := &Acceptance{}
			if c.held != nil {
				accepted.pending = map[string]*Pending{"a": c.held}
			}
			if !c.unaccepted {
				accepted.Pools = append(c.others, c.pool)
			}
			o := PoolOutcomeOf(c.pool, accepted, render.Expand(accepted.Pools), c.class, c.facts)
			if got := o.reported(); got != c.want {
				t.Errorf("outcome is %s, want %s: %s", got, c.want, c.reason)
			}
			if o.Releases(0) != c.releases || o.Releases(1) {
				t.Errorf("goes with no carrier: %t, want %t; with one: %t: %s", o.Releases(0), c.releases, o.Releases(1), c.reason)
			}
			if (o.Block != nil) != (o.State == PoolStateBlocked) {
				t.Errorf("block of a pool that is %s: %v", o.State, o.Block)
			}
		})
	}
}
