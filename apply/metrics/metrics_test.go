package metrics

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/hostile"
)

var update = flag.Bool("update", false, "write the golden files anew")

func noBuild() (*debug.BuildInfo, bool) { return nil, false }

// scrape returns what is served, without that of the Go runtime.
func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	families, err := registry.Gather()
	if err != nil {
		t.Fatalf("nothing is served: %v", err)
	}
	var text bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			t.Fatal(err)
		}
	}
	// Of the program it depends on who has built it.
	return strings.ReplaceAll(text.String(), m.build.GoVersion[len("go"):], "1.0")
}

// everything is the metrics of an instance to which everything has happened.
func everything() *Metrics {
	now := time.Unix(1_800_000_000, 0)
	m := New(program())
	m.now = func() time.Time { return now }
	gone := v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "suspended"}}
	gone.Spec.Suspend = true
	fleet := v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "fleet"}}
	fleet.Spec.Interval = metav1.Duration{Duration: 30 * time.Second}
	fleet.Status = v1.NodePoolSourceStatus{
		Revision: "main@sha1:6d0c4c1f2b6a2e3c4d5e6f708192a3b4c5d6e7f8", Pools: 12,
		BlockedPrune: &v1.BlockedPrune{Count: 3, Pools: []string{"a", "b"}},
		Conditions: []metav1.Condition{
			{Type: v1.ReadyCondition, Status: metav1.ConditionFalse, Reason: v1.PruneBlockedReason},
			{Type: v1.PruneBlockedCondition, Status: metav1.ConditionTrue, Reason: v1.PruneBlockedReason},
		},
	}
	pools := manyPools(2)
	pools[0].Spec.Rollout = &v1.Rollout{Drain: &v1.Drain{}}
	pools[0].Status.Rollout = &v1.RolloutStatus{Wave: "canary", Halt: &v1.RolloutHalt{Nodes: 1, Node: "n"}}
	view := viewOf(cached{pools: pools, sources: []v1.NodePoolSource{fleet, gone}})
	view.Nodes = func() NodeCounts {
		return NodeCounts{
			Known: true, Unreadable: 1, Pools: map[string]PoolCounts{"pool-0001": {Failing: 2, Conflicts: 7, Waiting: 3, Draining: 1}},
			Open:  map[string]bool{"pool-0000": true, "pool-0001": false, "a pool that is gone": true},
			Turns: map[string]TurnCounts{"pool-0000": {Following: 2, Unavailable: 3, Failed: 1}, "a pool that is gone": {Following: 1}},
		}
	}
	view.Pending = func() (int, time.Time) { return 4, now.Add(-90 * time.Second) }
	view.Polls = func() map[string]Poll {
		return map[string]Poll{"fleet": {LastSuccess: now.Add(-time.Minute), CredentialExpiry: now.Add(time.Hour)}, "suspended": {LastSuccess: now}}
	}
	m.Follow(view)
	m.EvictionAsked([]string{"pool-0001", "a pool that is gone"}, EvictionBlocked)
	m.NodeWritten(UpdateNode, Success)
	m.NodeWritten(RepairNode, Conflict)
	m.NodeConverged(PoolChanged, 300*time.Millisecond)
	m.DriftRepaired("pool-0000", 2)
	m.DriftRepaired("pool-0000", 1)
	m.DriftRepaired("a pool that is gone", 1)
	m.SourcePolled("fleet", Unchanged, v1.SucceededReason, 40*time.Millisecond, 65)
	m.SourcePolled("fleet", PollFailed, "Unreachable", time.Second, 0)
	m.SourcePolled("a source that is gone", Changed, v1.SucceededReason, time.Second, 1000)
	m.WebhookAnswered(202)
	m.WebhookAnswered(401)
	return m
}

func TestEverythingIsReported(t *testing.T) {
	got := scrape(t, everything())
	file := filepath.Join("testdata", "metrics.txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got; where it is meant, go test ./apply/metrics -update:\n%s", diff)
	}
	for _, definition := range Definitions() {
		if !strings.Contains(got, "\n"+definition.Name) {
			t.Errorf("%s is reported nowhere", definition.Name)
		}
	}
	if again := scrape(t, everything()); again != got {
		t.Error("the same state was reported in another way")
	}
}

// What is counted of objects that are gone is kept no longer than to the next scrape.
func TestNothingIsKeptOfWhatIsGone(t *testing.T) {
	m := everything()
	scrape(t, m)
	for counts, there := range map[*perObject]int{m.driftRepairs: 1, m.polls: 1, m.fetchedBytes: 1, m.evictions: 2} {
		if len(counts.counts) != there {
			t.Errorf("%s is kept of %d objects, and %d are there", counts.definition.Name, len(counts.counts), there)
		}
	}
}

// An instance that nobody scrapes keeps a bounded number of names.
func TestCountsAreBounded(t *testing.T) {
	m := New(program())
	for _, pool := range manyPools(maxPerObject + 10) {
		m.DriftRepaired(pool.Name, 1)
	}
	if kept := len(m.driftRepairs.counts); kept > maxPerObject {
		t.Errorf("%d names are kept, want at most %d", kept, maxPerObject)
	}
}

// Who does not work reports nothing of the cluster: replicas would else be added up.
func TestOnlyTheLeaderReportsTheCluster(t *testing.T) {
	m := everything()
	standby := viewOf(cached{pools: manyPools(2)})
	standby.Elected = make(chan struct{})
	for name, end := range map[string]func(){
		"another instance works": m.Follow(standby),
		"between two sessions":   func() {},
	} {
		got := scrape(t, m)
		for _, definition := range Definitions() {
			if reported := strings.Contains(got, "\n"+definition.Name); definition.OfLeader && reported {
				t.Errorf("%s: %s is reported", name, definition.Name)
			}
		}
		if !strings.Contains(got, "\nnodepools_leader 0\n") {
			t.Errorf("%s: nodepools_leader is not 0", name)
		}
		end()
		m.Follow(nil)()
	}
}

// A session that has ended does not end what the next one reports.
func TestFollowEndsOnlyItself(t *testing.T) {
	m := New(program())
	end := m.Follow(viewOf(cached{}))
	m.Follow(viewOf(cached{}))
	end()
	if got := scrape(t, m); !strings.Contains(got, "\nnodepools_leader 1\n") {
		t.Errorf("the session that runs is not reported:\n%s", got)
	}
}

// A count that is not known is not zero.
func TestUnknownIsNotZero(t *testing.T) {
	m := New(program())
	pools := manyPools(1)
	pools[0].Spec.Rollout = &v1.Rollout{}
	view := viewOf(cached{pools: pools})
	view.Nodes = func() NodeCounts { return NodeCounts{Open: map[string]bool{"pool-0000": true}} }
	m.Follow(view)
	got := scrape(t, m)
	for _, unknown := range []string{`state="failing"`, "\n" + poolConflicts.Name, "\n" + recordsUnreadable.Name, "\n" + rolloutNodes.Name} {
		if strings.Contains(got, unknown) {
			t.Errorf("%s is reported before every node was observed", strings.TrimSpace(unknown))
		}
	}
	view.Cached = cached{err: errors.New("not filled")}
	if got := scrape(t, m); strings.Contains(got, statusCondition.Name+"{") {
		t.Errorf("conditions are reported of a cache that is not filled:\n%s", got)
	}
}

// Whatever stands in the cluster, all other metrics are served, and it stays one line.
func TestHostileTextIsServedHarmless(t *testing.T) {
	for _, dangerous := range hostile.Strings() {
		text := dangerous.Text
		m := New(program())
		pools, sources := manyPools(1), make([]v1.NodePoolSource, 1)
		pools[0].Name = text
		pools[0].Status.Conditions[0].Reason = text
		sources[0].Name, sources[0].Status.Revision = text, text
		m.Follow(viewOf(cached{pools: pools, sources: sources}))
		m.DriftRepaired(text, 1)
		m.SourcePolled(text, Changed, text, time.Second, 1)
		got := scrape(t, m)
		if hidden := hostile.Hidden(got); len(hidden) > 0 {
			t.Errorf("%q is served with %q", text, hidden)
		}
		for line := range strings.Lines(got) {
			if !strings.HasPrefix(line, "nodepools_") && !strings.HasPrefix(line, "# ") || len(line) > 4096 {
				t.Errorf("%q is served as %q", text, line)
			}
		}
	}
}

// Types of conditions that are as long as can be, and differ in the end: two samples with
// the same labels would have no metric at all served.
func TestLongTypesStayApart(t *testing.T) {
	const longest = 316 // of the schema of conditions
	pools := manyPools(1)
	for i, end := range []string{"A", "B"} {
		pools[0].Status.Conditions[i].Type = strings.Repeat("x", longest-1) + end
	}
	m := New(program())
	m.Follow(viewOf(cached{pools: pools}))
	if got := scrape(t, m); strings.Count(got, strings.Repeat("x", longest-1)) != 2 {
		t.Errorf("the conditions are not reported:\n%s", got)
	}
}

// The names, units and help texts keep to the conventions of Prometheus.
func TestNamesKeepToConventions(t *testing.T) {
	problems, err := promlint.New(strings.NewReader(scrape(t, everything()))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
	for _, definition := range Definitions() {
		if !strings.HasPrefix(definition.Name, "nodepools_") || !strings.HasSuffix(definition.Help, ".") {
			t.Errorf("%s: its help is no sentence, or its name has no prefix: %s", definition.Name, definition.Help)
		}
	}
}

// No metric has a label for a node: there may be thousands, which come and go.
func TestNoLabelPerNode(t *testing.T) {
	for _, definition := range Definitions() {
		for _, label := range definition.Labels {
			if strings.Contains(label, "node") {
				t.Errorf("%s has the label %s", definition.Name, label)
			}
		}
	}
}

// Without metrics nothing is counted, and nothing fails.
func TestNobodyCounts(*testing.T) {
	var m *Metrics
	m.NodeWritten(UpdateNode, Success)
	m.NodeConverged(NodeJoined, time.Second)
	m.DriftRepaired("a", 1)
	m.EvictionAsked([]string{"a"}, PodEvicted)
	m.SourcePolled("a", Changed, "", time.Second, 1)
	m.WebhookAnswered(202)
	m.Follow(viewOf(cached{}))()
}

// Of a cluster in which no pool has a rollout nothing is said of any.
func TestWithoutRolloutsNothingIsSaidOfThem(t *testing.T) {
	m := New(program())
	m.Follow(viewOf(cached{pools: manyPools(2)}))
	if got := scrape(t, m); strings.Contains(got, "nodepools_rollout_") || strings.Contains(got, evictions.Name) {
		t.Errorf("rollouts are reported:\n%s", got)
	}
}

// Where one has a rollout, all may wait for it. How many nodes take turns is not known while
// nothing waits, and a halt that was resumed is none.
func TestRolloutsWithoutWindows(t *testing.T) {
	m := New(program())
	pools := manyPools(2)
	pools[0].Spec.Rollout = &v1.Rollout{}
	pools[0].Status.Rollout = &v1.RolloutStatus{Halt: &v1.RolloutHalt{Resumed: true}}
	m.Follow(viewOf(cached{pools: pools}))
	var got []string
	for line := range strings.Lines(scrape(t, m)) {
		if strings.HasPrefix(line, "nodepools_rollout_") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := []string{
		`nodepools_rollout_halted{pool="pool-0000"} 0`,
		`nodepools_rollout_nodes{pool="pool-0000",state="draining"} 0`,
		`nodepools_rollout_nodes{pool="pool-0000",state="waiting"} 0`,
		`nodepools_rollout_nodes{pool="pool-0001",state="draining"} 0`,
		`nodepools_rollout_nodes{pool="pool-0001",state="waiting"} 0`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
