package plan

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func limited(most string, minReady time.Duration) func(*v1.NodePool) {
	return func(pool *v1.NodePool) {
		limit := intstr.Parse(most)
		pool.Spec.Rollout = &v1.Rollout{MaxUnavailable: &limit, MinReady: &metav1.Duration{Duration: minReady}}
	}
}

// asksFor are asks of the changes of some pools.
func asksFor(pools ...string) (asks []Ask) {
	for _, pool := range pools {
		asks = append(asks, Ask{Pool: pool})
	}
	return asks
}

// turnFor is a turn in which the changes of some pools may go, whatever they are.
func turnFor(pools ...string) Turn { return asksFor(pools...) }

// back are asks of changes that put back what was before.
func back(asks []Ask) []Ask {
	for i := range asks {
		asks[i].Reverts = true
	}
	return asks
}

// asked are the pools whose changes wait for the turn of a node, and reverting those of them that put
// back what was before.
func asked(o NodeOutcome) []string { return Turn(o.Asks).Pools() }

func reverting(o NodeOutcome) (pools []string) {
	for _, ask := range o.Asks {
		if ask.Reverts {
			pools = append(pools, ask.Pool)
		}
	}
	return pools
}

// asking are nodes of which all changes that wait ask for a turn, where some ask.
func asking(nodes []Follower) []Follower {
	nodes = slices.Clone(nodes)
	for i := range nodes {
		node := &nodes[i]
		if !slices.ContainsFunc(node.Asks, func(ask Ask) bool { return !slices.Contains(node.Waits, ask.Pool) }) {
			continue
		}
		asks := asksFor(node.Waits...)
		if node.Asks[0].Reverts {
			back(asks)
		}
		node.Asks = asks
	}
	return nodes
}

func TestTurns(t *testing.T) {
	asks := func(name string, change func(*Follower)) Follower {
		f := Follower{Name: name, Pools: []string{"p"}, Asks: asksFor("p")}
		if change != nil {
			change(&f)
		}
		f.Waits = Turn(f.Asks).Pools()
		return f
	}
	changed := func(ago time.Duration) func(*Follower) {
		return func(f *Follower) { f.Asks, f.Change.At = nil, closedAt.Add(-ago) }
	}
	down := func(f *Follower) { f.Unavailable = true }
	ofBoth := func(f *Follower) { f.Pools, f.Asks = []string{"p", "q"}, asksFor("p", "q") }
	const minute = time.Minute
	cases := map[string]struct {
		reason string
		pools  []*v1.NodePool
		nodes  []Follower
		want   string
		again  time.Duration // from closedAt
	}{
		"two of three":      {"in the order of names", []*v1.NodePool{waitingPool("p", limited("2", minute))}, []Follower{asks("c", nil), asks("b", nil), asks("a", nil)}, "a b", 0},
		"none":              {"a literal 0 stops", []*v1.NodePool{waitingPool("p", limited("0", minute))}, []Follower{asks("a", nil)}, "", 0},
		"none of 0%":        {"so does this", []*v1.NodePool{waitingPool("p", limited("0%", minute))}, []Follower{asks("a", nil)}, "", 0},
		"a fifth of three":  {"at least one", []*v1.NodePool{waitingPool("p", limited("20%", minute))}, []Follower{asks("a", nil), asks("b", nil), asks("c", nil)}, "a", 0},
		"half of three":     {"rounded down", []*v1.NodePool{waitingPool("p", limited("50%", minute))}, []Follower{asks("a", nil), asks("b", nil), asks("c", nil)}, "a", 0},
		"one is down":       {"it counts, and does not begin", []*v1.NodePool{waitingPool("p", limited("2", minute))}, []Follower{asks("a", down), asks("b", nil), asks("c", nil)}, "b", 0},
		"one has changed":   {"it is not ready for long enough", []*v1.NodePool{waitingPool("p", limited("1", minute))}, []Follower{asks("a", changed(59*time.Second)), asks("b", nil)}, "", time.Second},
		"one is ready":      {"long enough", []*v1.NodePool{waitingPool("p", limited("1", minute))}, []Follower{asks("a", changed(minute)), asks("b", nil)}, "b", 0},
		"one has its turn":  {"nothing is known of it yet", []*v1.NodePool{waitingPool("p", limited("1", minute))}, []Follower{asks("a", func(f *Follower) { f.Begun, f.Busy = []string{"p"}, true }), asks("b", nil)}, "", 0},
		"asks one more":     {"it has its turn in one rollout, and the other is full", []*v1.NodePool{waitingPool("p", limited("1", minute)), waitingPool("q", limited("1", minute))}, []Follower{asks("a", func(f *Follower) { ofBoth(f); f.Begun, f.Busy = []string{"p"}, true }), asks("b", func(f *Follower) { ofBoth(f); down(f) })}, "", 0},
		"asks two":          {"the weaker one is full", []*v1.NodePool{waitingPool("p", limited("1", minute)), waitingPool("q", limited("0", minute))}, []Follower{asks("a", ofBoth), asks("b", nil)}, "a", 0},
		"another is limit":  {"it counts in both, and asks one", []*v1.NodePool{waitingPool("p", limited("2", minute)), waitingPool("q", limited("1", minute))}, []Follower{asks("a", func(f *Follower) { f.Pools = []string{"p", "q"} }), asks("b", func(f *Follower) { f.Pools, f.Asks = []string{"p", "q"}, asksFor("q") })}, "a", 0},
		"changes once more": {"it counts already", []*v1.NodePool{waitingPool("p", limited("1", minute))}, []Follower{asks("a", func(f *Follower) { f.Change.At = closedAt.Add(-time.Second) }), asks("b", nil)}, "a", 59 * time.Second},
		"gone":              {"the rollout that it asked is another one by now", []*v1.NodePool{waitingPool("q", limited("1", minute))}, []Follower{asks("a", nil)}, "", 0},
	}
	for name, c := range cases {
		turns := RolloutsOf(c.pools).Turns(asking(c.nodes), nil, closedAt, true)
		again := turns.Again
		if got := strings.Join(slices.Sorted(maps.Keys(turns.Nodes)), " "); got != c.want {
			t.Errorf("%s: it is the turn of %q, want %q: %s", name, got, c.want, c.reason)
		}
		if want := closedAt.Add(c.again); c.again == 0 && !again.IsZero() || c.again > 0 && !again.Equal(want) {
			t.Errorf("%s: it is decided again at %v, want %v after %v", name, again, c.again, closedAt)
		}
	}
}

// A node that has to wait for its turn asks the rollouts of the pools that its change waits
// for, and follows when it is its turn in all of them; the record has the time.
func TestNodeTakesItsTurn(t *testing.T) {
	pools := []*v1.NodePool{
		waitingPool("p", all(labelled("2"), limited("1", time.Minute))),
		waitingPool("fleet", all(prior(1), limited("1", time.Minute))),
		waitingPool("weak", all(prior(-1), limited("0", time.Minute))),
	}
	node := followed(t, 365*24*time.Hour, waitingPool("p", labelled("1")), pools[1], pools[2])
	outcome := func(turns ...string) NodeOutcome {
		return NodeOutcomeOf(node, expand(pools...), NodeFacts{Rollouts: RolloutsOf(pools), Turn: turnFor(turns...), Now: closedAt.Add(time.Millisecond)})
	}
	for _, turns := range [][]string{nil, {"fleet"}, {"weak"}} {
		o := outcome(turns...)
		if !slices.Equal(asked(o), []string{"p"}) || o.Begins || !o.Admission.Plan.NoOp() || o.Wait.Of("p") == nil || !o.Wait.Of("p").Turn {
			t.Errorf("with its turn in %v, the node asks %v, waits for %v, and writes %v", turns, o.Asks, o.Wait, o.Admission.Plan.Changes)
		}
	}
	o := outcome("p")
	if len(o.Asks) > 0 || len(o.Wait) > 0 || !o.Begins {
		t.Fatalf("in its turn, the node asks %v, waits for %v, and begins: %t", o.Asks, o.Wait, o.Begins)
	}
	node = o.Admission.Plan.After(node)
	if at := LastChangeOf(node).At; !at.Equal(closedAt.Add(time.Second)) {
		t.Errorf("it began at %v, want the next full second", at)
	}
	if o := outcome("p"); !o.Plan.NoOp() {
		t.Errorf("a second pass writes %v", o.Plan.Changes)
	}
	pools[0].Spec.Annotations = map[string]v1.AnnotationValue{key: "1"}
	o = outcome()
	if len(o.Asks) > 0 || o.Begins || o.Admission.Plan.NoOp() {
		t.Fatalf("for an annotation the node asks %v, begins: %t", o.Asks, o.Begins)
	}
	if at := LastChangeOf(o.Admission.Plan.After(node)).At; !at.Equal(closedAt.Add(time.Second)) {
		t.Errorf("with another change it has begun at %v", at)
	}
}

// What it costs to decide whose turn it is, among many nodes that are in a pool with waves,
// and in one of a hundred with a budget each.
func BenchmarkTurns(b *testing.B) {
	var waves []v1.Wave
	for i := range 50 {
		waves = append(waves, waveOf("w"+strconv.Itoa(i), "100", nil))
	}
	pools := []*v1.NodePool{waitingPool("fleet", all(prior(1), inWaves(waves...)))}
	for i := range 100 {
		pools = append(pools, waitingPool("p"+strconv.Itoa(i), limited("10%", time.Minute)))
	}
	rollouts := RolloutsOf(pools)
	nodes := make([]Follower, 5000)
	for i := range nodes {
		pool := "p" + strconv.Itoa(i%100)
		nodes[i] = Follower{
			Name: "node-" + strconv.Itoa(i), Pools: []string{"fleet", pool}, Asks: asksFor("fleet", pool), Waits: []string{pool},
			Selected: map[string]uint64{"fleet": 1<<50 - 1},
		}
		if i%2 == 0 {
			nodes[i].Asks, nodes[i].Waits, nodes[i].Change.At = nil, nil, closedAt.Add(-time.Hour)
		}
	}
	nodes = asking(nodes)
	for b.Loop() {
		rollouts.Turns(nodes, nil, closedAt, true)
	}
}
