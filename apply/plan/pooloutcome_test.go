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
	case o.ClassHeld:
		text += ", class held"
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
	outer := define("outer", v1.NodePoolSpec{})
	held := map[string]error{"a": &ReleaseBlock{Pool: "a"}}
	foreign := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: v1.RuntimeClassName("a")}}
	cases := map[string]struct {
		reason string
		pool   *v1.NodePool
		others []*v1.NodePool
		held   map[string]error
		class  *nodev1.RuntimeClass
		facts  PoolFacts
		want   string
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
		"paused rollout policy": {
			reason: "nothing is written", pool: paused(policy()), class: ownedClass(a(), nil), want: "paused, class held",
		},
		"no rollout policy any more": {
			reason: "it has a handler, and so a RuntimeClass", pool: define("a", v1.NodePoolSpec{Rollout: &v1.Rollout{}, Handler: "runc"}),
			want: `active, finalizer ensured, class "create"`,
		},
		"paused": {reason: "nothing is written", pool: paused(a()), want: "paused, class held"},
		"paused and deleted": {
			reason: "a pause holds whatever is asked for meanwhile", pool: paused(deleted(a())), want: "paused, class held",
		},
		"deleted": {
			reason: "the garbage collector takes the class", pool: deleted(a()), class: ownedClass(a(), nil),
			want: "releasing, finalizer released", releases: true,
		},
		"blocked": {reason: "it stays as it is", pool: a(), held: held, want: "blocked, class held"},
		"deletion blocked": {
			reason: "it stays as long as nodes carry its keys", pool: deleted(a()), held: held,
			want: "blocked, finalizer released, class held", releases: true,
		},
		"within a blocked pool": {
			reason: "nobody knows which nodes are within", pool: inner(), others: []*v1.NodePool{outer},
			held: map[string]error{"outer": &ReleaseBlock{Pool: "outer"}}, want: "faulty, class held",
		},
		"within no pool": {reason: "its parent does not exist", pool: inner(), want: "faulty, class held"},
		"paused within no pool": {
			reason: "the pause comes first", pool: paused(inner()), want: "paused, class held",
		},
		"within a paused pool": {
			reason: "pods have to go on where the paused pool leads them", pool: inner(),
			others: []*v1.NodePool{paused(define("outer", v1.NodePoolSpec{}))}, want: "active, finalizer ensured, class held",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := PoolOutcomeOf(c.pool, render.ExpandHeld(append(c.others, c.pool), c.held), c.class, c.facts)
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
