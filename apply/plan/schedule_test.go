package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// reportedSchedules writes schedules in a few words.
func reportedSchedules(schedules []PoolSchedule) []string {
	var lines []string
	for _, s := range schedules {
		line := fmt.Sprintf("%s: %d nodes, %d windows", s.Pool, s.Nodes, s.Windows)
		if !s.Ends.IsZero() {
			line += ", ends " + DescribeTime(s.Ends, s.Zone)
		}
		lines = append(lines, line)
		for _, w := range s.Waves {
			line := fmt.Sprintf(" %s [%s]", w.Wave, strings.Join(w.Nodes, " "))
			if !w.Starts.IsZero() {
				line += " " + DescribeTime(w.Starts, s.Zone)
			}
			if w.Ends.After(w.Starts) {
				line += " until " + DescribeTime(w.Ends, s.Zone)
			}
			if w.Together != 1 && w.Together < len(w.Nodes) {
				line += fmt.Sprintf(", %d at a time", w.Together)
			}
			if w.Approval != "" {
				line += ", approval of " + w.Approval
			}
			if len(w.Stay) > 0 {
				line += fmt.Sprintf(", stay: %s", strings.Join(w.Stay, " "))
			}
			lines = append(lines, line)
		}
		if s.Stays != "" {
			lines = append(lines, " "+s.Stays)
		}
	}
	return lines
}

func TestSchedule(t *testing.T) {
	window := func(schedule, zone string, hours int) func(*v1.NodePool) {
		return func(pool *v1.NodePool) {
			if pool.Spec.Rollout == nil {
				pool.Spec.Rollout = &v1.Rollout{}
			}
			pool.Spec.Rollout.Windows = append(pool.Spec.Rollout.Windows,
				v1.Window{Schedule: v1.Schedule(schedule), TimeZone: v1.TimeZone(zone), Duration: metav1.Duration{Duration: time.Duration(hours) * time.Hour}})
		}
	}
	soaks := func(d time.Duration) func(*v1.Wave) {
		return func(w *v1.Wave) { w.Soak = &metav1.Duration{Duration: d} }
	}
	approved := func(w *v1.Wave) { w.Approval = v1.ApprovalRequired }
	stopped := func(pool *v1.NodePool) {
		if pool.Spec.Rollout == nil {
			pool.Spec.Rollout = &v1.Rollout{}
		}
		pool.Spec.Rollout.Paused = true
	}
	cordon := func(name string) func([]*NodeState) {
		return func(nodes []*NodeState) {
			for _, node := range nodes {
				node.Unschedulable = node.Unschedulable || node.Name == name
			}
		}
	}
	const minute = time.Minute
	berlin := "Europe/Berlin"
	p := func(changes ...func(*v1.NodePool)) *v1.NodePool {
		return waitingPool("p", all(append(changes, labelled("2"))...))
	}
	cases := map[string]struct {
		reason string
		at     string // closedAt where it is not said
		nodes  int
		change func([]*NodeState)
		pools  []*v1.NodePool
		want   []string
	}{
		"no rollout": {reason: "nothing waits", nodes: 2, pools: []*v1.NodePool{p()}},
		"budget": {reason: "one after the other", nodes: 3, pools: []*v1.NodePool{p(limited("1", minute))},
			want: []string{"p: 3 nodes, 0 windows, ends Wed 2026-11-25 12:03 UTC", "  [a b c] Wed 2026-11-25 12:00 UTC until Wed 2026-11-25 12:02 UTC"}},
		"no waiting": {reason: "without minReady all follow at once", nodes: 3, pools: []*v1.NodePool{p(limited("1", 0))},
			want: []string{"p: 3 nodes, 0 windows, ends Wed 2026-11-25 12:00 UTC", "  [a b c] Wed 2026-11-25 12:00 UTC"}},
		"budget of two": {reason: "two at a time", nodes: 5, pools: []*v1.NodePool{p(limited("2", minute))},
			want: []string{"p: 5 nodes, 0 windows, ends Wed 2026-11-25 12:03 UTC", "  [a b c d e] Wed 2026-11-25 12:00 UTC until Wed 2026-11-25 12:02 UTC, 2 at a time"}},
		"two without waiting": {reason: "two at a time all the same", nodes: 5, pools: []*v1.NodePool{p(limited("2", 0))},
			want: []string{"p: 5 nodes, 0 windows, ends Wed 2026-11-25 12:00 UTC", "  [a b c d e] Wed 2026-11-25 12:00 UTC, 2 at a time"}},
		"zone": {reason: "the window is that of the zone", nodes: 1, pools: []*v1.NodePool{p(window("0 2 * * 6", berlin, 4))},
			want: []string{"p: 1 nodes, 1 windows, ends Sat 2026-11-28 02:00 CET (01:00 UTC)", "  [a] Sat 2026-11-28 02:00 CET (01:00 UTC)"}},
		"another date": {reason: "the date differs in UTC", nodes: 1, pools: []*v1.NodePool{p(window("30 0 * * 6", berlin, 4))},
			want: []string{"p: 1 nodes, 1 windows, ends Sat 2026-11-28 00:30 CET (2026-11-27 23:30 UTC)", "  [a] Sat 2026-11-28 00:30 CET (2026-11-27 23:30 UTC)"}},
		"clocks go back": {reason: "the window begins in the first 02:00, and lasts over both", at: "2026-10-24T12:00:00Z", nodes: 3,
			pools: []*v1.NodePool{p(window("0 2 * * 0", berlin, 2), limitedIn("1", 50*minute))},
			want:  []string{"p: 3 nodes, 1 windows, ends Sun 2026-10-25 03:30 CET (02:30 UTC)", "  [a b c] Sun 2026-10-25 02:00 CEST (00:00 UTC) until Sun 2026-10-25 02:40 CET (01:40 UTC)"}},
		"clocks go forward": {reason: "02:30 is not there", at: "2027-03-27T12:00:00Z", nodes: 1, pools: []*v1.NodePool{p(window("30 2 * * *", berlin, 1))},
			want: []string{"p: 1 nodes, 1 windows, ends Sun 2027-03-28 03:00 CEST (01:00 UTC)", "  [a] Sun 2027-03-28 03:00 CEST (01:00 UTC)"}},
		"two windows": {reason: "two in the first night, the third in the next", nodes: 3, pools: []*v1.NodePool{p(closed, window("0 2 * * *", "", 1), limitedIn("1", 31*minute))},
			want: []string{"p: 3 nodes, 2 windows, ends Fri 2026-11-27 02:31 UTC", "  [a b c] Thu 2026-11-26 02:00 UTC until Fri 2026-11-27 02:00 UTC"}},
		"waves": {reason: "the canary soaks", nodes: 4, pools: []*v1.NodePool{p(limited("2", 5*minute), inWaves(waveOf("first", "1", nil), waveOf("canary", "2", soaks(time.Hour))))},
			want: []string{"p: 4 nodes, 0 windows, ends Wed 2026-11-25 13:10 UTC", " first [a] Wed 2026-11-25 12:00 UTC", " canary [b c] Wed 2026-11-25 12:05 UTC", " rest [d] Wed 2026-11-25 13:05 UTC"}},
		"soak over the window": {reason: "the next wave begins in the next night", nodes: 2, pools: []*v1.NodePool{p(closed, inWaves(waveOf("canary", "1", soaks(90*minute))))},
			want: []string{"p: 2 nodes, 2 windows, ends Fri 2026-11-27 02:00 UTC", " canary [a] Thu 2026-11-26 02:00 UTC", " rest [b] Fri 2026-11-27 02:00 UTC"}},
		"approval": {reason: "it is given as soon as it is all that is missing", nodes: 2, pools: []*v1.NodePool{p(inWaves(waveOf("canary", "1", all2(soaks(30*minute), approved))))},
			want: []string{"p: 2 nodes, 0 windows, ends Wed 2026-11-25 12:30 UTC", " canary [a] Wed 2026-11-25 12:00 UTC", " rest [b] Wed 2026-11-25 12:30 UTC, approval of canary"}},
		"two rollouts": {reason: "both windows have to be open, and both budgets have room", nodes: 2,
			pools: []*v1.NodePool{p(window("0 2-5 * * *", "", 1)), waitingPool("fleet", all(prior(1), window("0 4 * * *", berlin, 4), limitedIn("1", 10*minute)))},
			want: []string{
				"fleet: 2 nodes, 1 windows, ends Thu 2026-11-26 04:20 CET (03:20 UTC)", "  [a b] Thu 2026-11-26 04:00 CET (03:00 UTC) until Thu 2026-11-26 04:10 CET (03:10 UTC)",
				"p: 2 nodes, 1 windows, ends Thu 2026-11-26 03:10 UTC", "  [a b] Thu 2026-11-26 03:00 UTC until Thu 2026-11-26 03:10 UTC"}},
		"paused": {reason: "somebody has to go on", nodes: 2, pools: []*v1.NodePool{p(stopped)},
			want: []string{"p: 2 nodes, 0 windows", "  [], stay: a b", ` 2 nodes do not follow: the rollout of pool "p" is paused`}},
		"never opens": {reason: "no opening is found", nodes: 1, pools: []*v1.NodePool{p(window("0 0 30 2 *", "", 1))},
			want: []string{"p: 1 nodes, 0 windows", "  [], stay: a", ` 1 node does not follow: outside the windows of pool "p"; no opening was found; windows[0]: schedule "0 0 30 2 *" never starts: none of its months has any of its days; it stays closed`}},
		"never together": {reason: "the windows never meet", nodes: 1, pools: []*v1.NodePool{p(window("0 2 * * *", "", 1)), waitingPool("fleet", all(prior(1), func(p *v1.NodePool) { p.Spec.Handler = "runc" }, window("0 5 * * *", "", 1)))},
			want: []string{"fleet: 1 nodes, 0 windows", "  [], stay: a", ` 1 node does not follow: outside the windows of pools "fleet", "p"; no opening was found`,
				"p: 1 nodes, 0 windows", "  [], stay: a", ` 1 node does not follow: outside the windows of pools "fleet", "p"; no opening was found`}},
		"budget of 0": {reason: "a literal 0 stops", nodes: 1, pools: []*v1.NodePool{p(limited("0", 0))},
			want: []string{"p: 1 nodes, 0 windows", "  [], stay: a", ` 1 node does not follow: maxUnavailable of pool "p" is 0`}},
		"cordoned canary": {reason: "its wave does not end", nodes: 3, change: cordon("a"), pools: []*v1.NodePool{p(inWaves(waveOf("canary", "2", nil)))},
			want: []string{"p: 3 nodes, 0 windows", " canary [b] Wed 2026-11-25 12:00 UTC, stay: a", " rest [], stay: c", ` 2 nodes do not follow: node "a" is cordoned`}},
		"no room": {reason: "the cordoned node takes the place", nodes: 2, change: cordon("b"), pools: []*v1.NodePool{p(limited("1", 0))},
			want: []string{"p: 2 nodes, 0 windows", "  [], stay: a b", ` 2 nodes do not follow: 1 of 2 nodes of pool "p" are unavailable, and no more may be`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			at := closedAt
			if c.at != "" {
				var err error
				if at, err = time.Parse(time.RFC3339, c.at); err != nil {
					t.Fatal(err)
				}
			}
			before := []*v1.NodePool{waitingPool("p", labelled("1")), waitingPool("fleet", prior(1))}
			if len(c.pools) == 1 {
				before = before[:1]
			}
			var nodes []*NodeState
			for i := range c.nodes {
				node := followed(t, 365*24*time.Hour, before...)
				node.Name = string(rune('a' + i))
				nodes = append(nodes, node)
			}
			if c.change != nil {
				c.change(nodes)
			}
			got := reportedSchedules(newSchedules(newForesight(Cluster{Nodes: nodes}, expand(c.pools...), RolloutsOf(c.pools), at)).foretell())
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// limitedIn adds a budget to the rollout of a pool.
func limitedIn(most string, minReady time.Duration) func(*v1.NodePool) {
	return func(pool *v1.NodePool) {
		windows := pool.Spec.Rollout.Windows
		limited(most, minReady)(pool)
		pool.Spec.Rollout.Windows = windows
	}
}

func all2(changes ...func(*v1.Wave)) func(*v1.Wave) {
	return func(w *v1.Wave) {
		for _, change := range changes {
			change(w)
		}
	}
}
