package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func inWaves(waves ...v1.Wave) func(*v1.NodePool) {
	return func(pool *v1.NodePool) {
		if pool.Spec.Rollout == nil {
			pool.Spec.Rollout = &v1.Rollout{}
		}
		pool.Spec.Rollout.Waves, pool.Generation = waves, 7
	}
}

func waveOf(name, nodes string, change func(*v1.Wave)) v1.Wave {
	w := v1.Wave{Name: name}
	if nodes != "" {
		limit := intstr.Parse(nodes)
		w.Nodes = &limit
	}
	if change != nil {
		change(&w)
	}
	return w
}

func TestWaves(t *testing.T) {
	soaks := func(w *v1.Wave) { w.Soak = &metav1.Duration{Duration: time.Minute} }
	needsApproval := func(w *v1.Wave) { w.Approval = v1.ApprovalRequired }
	chooses := func(w *v1.Wave) {
		w.Selector = &v1.WaveSelector{MatchLabels: map[string]v1.LabelValue{"zone": "b"}}
	}
	// The approval that is asked for is the same for this change of this pool, and no other.
	of := func(generation int64) string {
		pool := waitingPool("p", nil)
		pool.Generation = generation
		return ChangeID(pool)
	}
	approved := func(value string) func(*v1.NodePool) {
		return func(pool *v1.NodePool) {
			pool.Annotations = map[string]string{v1.ApproveRolloutAnnotation: value}
		}
	}
	cases := map[string]struct {
		reason string
		pool   func(*v1.NodePool)
		nodes  string // of each its name, zone and state: behind, down, window, or how long ago it has followed
		turns  string
		state  string
	}{
		"first one":            {"by name", inWaves(waveOf("one", "1", nil)), "c-a behind, b-a behind, a-a behind", "a", "one 0/1"},
		"half":                 {"rounded down", inWaves(waveOf("half", "50%", nil)), "a-a behind, b-a behind, c-a behind", "a", "half 0/1"},
		"by label":             {"wherever they are in the order", inWaves(waveOf("zone", "", chooses)), "a-a behind, b-b behind, c-b behind", "b c", "zone 0/2"},
		"one by label":         {"the first of those", inWaves(waveOf("zone", "1", chooses)), "a-a behind, b-b behind, c-b behind", "b", "zone 0/1"},
		"in no two":            {"the first wave that chooses it", inWaves(waveOf("one", "1", nil), waveOf("two", "1", nil)), "a-a 1h, b-a behind, c-a behind", "b", "two 0/1"},
		"the rest":             {"those that are in none", inWaves(waveOf("one", "1", nil)), "a-a 1h, b-a behind, c-a behind", "b c", "rest 0/2"},
		"empty wave":           {"nobody is waited for", inWaves(waveOf("zone", "", func(w *v1.Wave) { chooses(w); soaks(w) })), "a-a behind", "a", "rest 0/1"},
		"canary that is gone":  {"somebody has to look", inWaves(waveOf("zone", "", func(w *v1.Wave) { chooses(w); needsApproval(w) })), "a-a behind", "", "zone 0/0 approve " + of(7) + "/zone"},
		"joined before it":     {"the canary soaks, though it is none any more", inWaves(waveOf("one", "1", soaks)), "a-a, b-a 59s, c-a behind", "", "one 1/1 soaks"},
		"stuck":                {"somebody looks at it", inWaves(waveOf("one", "1", nil)), "a-a 1h stuck, b-a behind", "", "one 1/1 down a"},
		"broken by it":         {"the revert has to reach it", inWaves(waveOf("one", "1", nil)), "a-a 1m down behind, b-a behind", "a", "one 0/1 down a"},
		"wave under way":       {"one of two has followed", inWaves(waveOf("two", "2", nil)), "a-a 1h, b-a behind, c-a behind", "b", "two 1/2"},
		"down after it":        {"it stops the next wave", inWaves(waveOf("one", "1", nil)), "a-a down, b-a behind", "", "one 1/1 down a"},
		"down in a later wave": {"it does not begin, and stops nobody", inWaves(waveOf("one", "1", nil)), "a-a 1h, b-a down behind, c-a behind", "c", "rest 0/2 down b"},
		"soaks":                {"a minute has not passed", inWaves(waveOf("one", "1", soaks)), "a-a 59s, b-a behind", "", "one 1/1 soaks"},
		"has soaked":           {"it has", inWaves(waveOf("one", "1", soaks)), "a-a 1m, b-a behind", "b", "rest 0/1"},
		"not approved":         {"nobody has looked", inWaves(waveOf("one", "1", needsApproval)), "a-a 1h, b-a behind", "", "one 1/1 approve " + of(7) + "/one"},
		"approved":             {"for this change", all(inWaves(waveOf("one", "1", needsApproval)), approved(of(7)+"/one")), "a-a 1h, b-a behind", "b", "rest 0/1"},
		"approved before":      {"for another one", all(inWaves(waveOf("one", "1", needsApproval)), approved(of(6)+"/one")), "a-a 1h, b-a behind", "", "one 1/1 approve " + of(7) + "/one"},
		"approved at once":     {"a later wave, and those before it", all(inWaves(waveOf("one", "1", needsApproval), waveOf("two", "1", needsApproval)), approved("abcdef."+of(7)+"/two")), "a-a 1h, b-a behind, c-a behind", "b", "two 0/1"},
		"waits for a window":   {"it has not followed", inWaves(waveOf("one", "1", nil)), "a-a window, b-a behind", "", "one 0/1"},
		"nothing to follow":    {"a node that is down is no news", inWaves(waveOf("one", "1", needsApproval)), "a-a down, b-a 1h", "", ""},
		"with a budget":        {"both allow it", all(limited("1", time.Minute), inWaves(waveOf("two", "2", nil))), "a-a behind, b-a behind, c-a behind", "a", "two 0/2"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			rollouts := RolloutsOf([]*v1.NodePool{waitingPool("p", c.pool)})
			var nodes []Follower
			for _, text := range strings.Split(c.nodes, ", ") {
				words := strings.Fields(text)
				name, zone, _ := strings.Cut(words[0], "-")
				f := Follower{Name: name, Pools: []string{"p"}}
				node := newNode(name)
				node.Labels = map[string]string{"zone": zone}
				f.Selected = rollouts.selected([]string{"p"}, node.Labels)
				for _, word := range words[1:] {
					switch word {
					case "behind":
						f.Asks, f.Waits = asksFor("p"), []string{"p"}
					case "window":
						f.Waits = []string{"p"}
					case "down":
						f.Unavailable = true
					case "stuck":
						f.Stuck = true
					default:
						ago, err := time.ParseDuration(word)
						if err != nil {
							t.Fatal(err)
						}
						f.Change.At = closedAt.Add(-ago)
					}
				}
				nodes = append(nodes, f)
			}
			turns := rollouts.Turns(asking(nodes), nil, closedAt, true)
			if got := strings.Join(slices.Sorted(maps.Keys(turns.Nodes)), " "); got != c.turns {
				t.Errorf("it is the turn of %q, want %q: %s", got, c.turns, c.reason)
			}
			if got := describeState(turns.Waves["p"]); got != c.state {
				t.Errorf("the state is %q, want %q: %s", got, c.state, c.reason)
			}
			if unknown := rollouts.Turns(asking(nodes), nil, closedAt, false); len(unknown.Nodes) > 0 || len(unknown.Waves) > 0 {
				t.Errorf("before all nodes are known, it is the turn of %v", unknown.Nodes)
			}
		})
	}
}

func describeState(s *WaveState) string {
	if s == nil {
		return ""
	}
	text := fmt.Sprintf("%s %d/%d", s.Wave, s.Nodes-s.Behind, s.Nodes)
	if s.Unavailable.Nodes > 0 {
		text += " down " + s.Unavailable.First
	}
	if s.Unavailable.Settling > 0 {
		text += fmt.Sprintf(" settling %d", s.Unavailable.Settling)
	}
	if s.Behind == 0 && !s.Soaks.IsZero() {
		text += " soaks"
	}
	if s.Behind == 0 && s.Approval != "" {
		text += " approve " + s.Approval
	}
	return text
}
