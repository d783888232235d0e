package status_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/api/sanitize"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/api/wrap"
	"github.com/nodepools/nodepools/apply/status"
	"github.com/nodepools/nodepools/testdata/docs"
	hostiletexts "github.com/nodepools/nodepools/testdata/hostile"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func textOf(t *testing.T, report *status.Report, form status.Form) string {
	t.Helper()
	var text bytes.Buffer
	if err := report.WriteText(&text, form); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); !form.Color && width > wrap.Width {
			t.Errorf("a line has %d columns: %s", width, line)
		}
	}
	return text.String()
}

const takesTurns = `nodes take turns in the rollout of pool "`

// world has a pool in each phase.
func world(t *testing.T) status.Cluster {
	t.Helper()
	cluster := status.Cluster{}
	add := func(pool *v1.NodePool, count, followed int, ago time.Duration) []status.Node {
		nodes := nodesOf(t, pool, count)
		for i := range followed {
			follow(t, &nodes[i], ago, pool)
		}
		cluster.Pools = append(cluster.Pools, pool)
		cluster.Nodes = append(cluster.Nodes, nodes...)
		return cluster.Nodes[len(cluster.Nodes)-count:]
	}
	add(poolOf("done", nil, reports(v1.ReadyCondition, v1.SucceededReason, "4 of 4 nodes up to date", time.Hour, 4, 4, 0)), 4, 4, time.Hour)
	add(poolOf("batch", inWaves(v1.Wave{Approval: v1.ApprovalRequired}), fromGit,
		reports(v1.ReconcilingCondition, v1.WaitingForApprovalReason, "1 of 8 nodes up to date; 7 nodes wait: "+takesTurns+`batch"; wave canary, 1 of 3, has 1 of 1 nodes; the next wave waits for an approval`, 12*time.Minute, 1, 8, 7)), 8, 1, 12*time.Minute)
	add(poolOf("soak", inWaves(v1.Wave{Soak: &metav1.Duration{Duration: 30 * time.Minute}}),
		reports(v1.ReconcilingCondition, v1.SoakingReason, "1 of 6 nodes up to date; 5 nodes wait", 10*time.Minute, 1, 6, 5)), 6, 1, 10*time.Minute)
	night := nightly()
	add(poolOf("night", night, reports(v1.ReconcilingCondition, v1.WaitingForWindowReason, `0 of 3 nodes up to date; 3 nodes wait: outside the windows of pool "night"`, 3*time.Hour, 0, 3, 3), func(pool *v1.NodePool) {
		pool.Status.Rollout.NextWindow = &metav1.Time{Time: time.Date(2026, time.November, 26, 1, 0, 0, 0, time.UTC)}
	}), 3, 0, 0)
	add(poolOf("frozen", &v1.Rollout{Paused: true}, reports(v1.ReconcilingCondition, v1.RolloutPausedReason, `0 of 2 nodes up to date; 2 nodes wait: the rollout of pool "frozen" is paused`, 26*time.Hour, 0, 2, 2)), 2, 0, 0)
	halted := add(poolOf("gpu", inWaves(v1.Wave{}), fromGit, reports(v1.StalledCondition, v1.RolloutHaltedReason, "2 of 6 nodes up to date; node gpu-02 failed after it had followed", 5*time.Minute, 2, 6, 4), func(pool *v1.NodePool) {
		pool.Status.Rollout.Wave = "half"
		pool.Status.Rollout.Halt = &v1.RolloutHalt{Time: metav1.NewTime(now.Add(-5 * time.Minute)), Changes: "0a1b2c.3d4e5f", Resume: "0a1b2c/2026-11-25T11:55:00Z", Nodes: 1, Node: "gpu-02"}
	}), 6, 2, 20*time.Minute)
	halted[1].Ready = false
	cordoned := add(poolOf("web", inWaves(v1.Wave{}), reports(v1.ReconcilingCondition, v1.WaitingForBudgetReason, "2 of 8 nodes up to date; 6 nodes wait", 40*time.Minute, 2, 8, 6)), 8, 2, 20*time.Minute)
	cordoned[2].Unschedulable, cordoned[3].Unschedulable = true, true
	add(poolOf("theirs", nil, reports(v1.StalledCondition, v1.ConflictReason, `2 of 3 nodes up to date; node theirs-02: label example.com/tier stays "gold": kubectl-label has set it; pool theirs wants "2"`, 49*time.Hour, 2, 3, 0)), 3, 3, 0)
	add(poolOf("left-alone", nil, func(pool *v1.NodePool) { pool.Annotations = map[string]string{v1.ReconcileAnnotation: v1.Disabled} },
		reports("", v1.PausedReason, "annotation nodes.lailin.xyz/reconcile is disabled: nothing is written for this pool", time.Hour, 0, 1, 0)), 1, 0, 0)
	add(poolOf("unseen", nil, func(pool *v1.NodePool) { pool.Status.ObservedGeneration = -1 }), 1, 0, 0)
	add(poolOf("changed", nil, reports(v1.ReadyCondition, v1.SucceededReason, "1 of 1 node up to date", time.Hour, 1, 1, 0), func(pool *v1.NodePool) { pool.Generation++ }), 1, 0, 0)
	return cluster
}

// Those that need a person come first; what each waits for fits a line.
func TestList(t *testing.T) {
	golden(t, "list.txt", textOf(t, status.Of(world(t), now), status.Form{}))
}

// Of one pool there is all that is known, with the command to go on.
func TestDetail(t *testing.T) {
	report := status.Of(world(t), now)
	for _, pool := range []string{"batch", "done", "frozen", "gpu", "left-alone", "night", "soak", "theirs", "unseen", "web"} {
		only, found := report.Only(pool)
		if !found {
			t.Fatalf("there is no pool %s", pool)
		}
		golden(t, pool+".txt", textOf(t, only, status.Form{Detail: true}))
	}
	if _, found := report.Only("none"); found {
		t.Error("there is a pool none")
	}
}

// The page on operating shows what is printed.
func TestOperatingShowsRealOutput(t *testing.T) {
	only, _ := status.Of(world(t), now).Only("batch")
	shown := docs.Cut(t, "```\n$ nodepools status batch\n", "```\n")
	if diff := cmp.Diff(textOf(t, only, status.Form{Detail: true}), shown); diff != "" {
		t.Errorf("-printed +shown:\n%s", diff)
	}
}

// What programs get.
func TestJSON(t *testing.T) {
	only, _ := status.Of(world(t), now).Only("batch")
	text, err := json.MarshalIndent(only, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "batch.json", string(text)+"\n")
}

// Without nodes, what the statuses say is shown all the same.
func TestWithoutNodes(t *testing.T) {
	cluster := world(t)
	cluster.Nodes = nil
	report := status.Of(cluster, now)
	golden(t, "list-without-nodes.txt", textOf(t, report, status.Form{}))
	only, _ := report.Only("gpu")
	golden(t, "gpu-without-nodes.txt", textOf(t, only, status.Form{Detail: true}))
}

// The nodes of one pool wait for the wave of another: that is named, and so is the pool in
// the command.
func TestApprovalOfAnotherPool(t *testing.T) {
	fleet := poolOf("fleet", inWaves(v1.Wave{Approval: v1.ApprovalRequired}), func(pool *v1.NodePool) {
		pool.Spec.NodeNames, pool.Spec.Labels, pool.Spec.Priority = []string{"*"}, nil, 100
	})
	web := poolOf("web", nil, reports(v1.ReconcilingCondition, v1.WaitingForApprovalReason, "1 of 4 nodes up to date", time.Minute, 1, 4, 3))
	nodes := nodesOf(t, web, 4)
	follow(t, &nodes[0], time.Minute, fleet, web)
	only, _ := status.Of(status.Cluster{Pools: []*v1.NodePool{fleet, web}, Nodes: nodes}, now).Only("web")
	text := textOf(t, only, status.Form{Detail: true})
	for _, want := range []string{"To approve the next wave of pool fleet:\n  nodepools approve fleet\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	if want := "an approval, after wave canary of pool fleet"; only.Pools[0].WaitsFor != want {
		t.Errorf("it waits for %q, want %q", only.Pools[0].WaitsFor, want)
	}
}

// A rollout that was resumed is halted no more, and the one that is halted ends a watch.
func TestPhases(t *testing.T) {
	halt := func(resumed bool) func(*v1.NodePool) {
		return func(pool *v1.NodePool) {
			pool.Status.Rollout.Halt = &v1.RolloutHalt{Time: metav1.NewTime(now), Changes: "abc", Nodes: 1, Node: "n", Resumed: resumed}
		}
	}
	waits := func(reason string) func(*v1.NodePool) {
		return reports(v1.ReconcilingCondition, reason, "", time.Minute, 0, 1, 1)
	}
	stalled := reports(v1.StalledCondition, v1.ConflictReason, "", time.Minute, 0, 1, 1)
	newer := func(pool *v1.NodePool) { pool.Generation++ }
	for name, c := range map[string]struct {
		reason string
		change []func(*v1.NodePool)
		want   status.Phase
	}{
		"halted":          {"the halt is reported", []func(*v1.NodePool){waits(v1.WaitingForBudgetReason), halt(false)}, status.Halted},
		"resumed":         {"it goes on", []func(*v1.NodePool){waits(v1.WaitingForBudgetReason), halt(true)}, status.Waiting},
		"by another pool": {"its own status has no halt", []func(*v1.NodePool){reports(v1.StalledCondition, v1.RolloutHaltedReason, "", 0, 0, 1, 1)}, status.Halted},
		"stalled":         {"somebody has to act", []func(*v1.NodePool){stalled}, status.Stalled},
		"mended":          {"the status is of what the pool said before", []func(*v1.NodePool){stalled, newer}, status.Progressing},
		"paused":          {"the rollout is", []func(*v1.NodePool){waits(v1.RolloutPausedReason)}, status.Paused},
		"nodes fail":      {"they are tried again", []func(*v1.NodePool){waits(v1.NodesReason)}, status.Progressing},
		"deleted": {"its nodes are released", []func(*v1.NodePool){waits(v1.ReleasingReason), func(pool *v1.NodePool) {
			pool.DeletionTimestamp = &metav1.Time{Time: now}
		}}, status.Deleting},
	} {
		report := status.Of(status.Cluster{Pools: []*v1.NodePool{poolOf("p", nil, c.change...)}}, now)
		if got := report.Pools[0].Phase; got != c.want || report.Failed() != (c.want == status.Halted || c.want == status.Stalled) || report.Complete() {
			t.Errorf("%s: the phase is %s, want %s, as %s; failed is %v", name, got, c.want, c.reason, report.Failed())
		}
	}
}

// The line of a watch, and the colours of a terminal.
func TestLinesAndColors(t *testing.T) {
	report := status.Of(world(t), now)
	var lines []string
	for _, pool := range report.Pools {
		lines = append(lines, pool.Line()+"\n")
	}
	golden(t, "lines.txt", strings.Join(lines, ""))
	only, _ := report.Only("gpu")
	colored, plain := textOf(t, only, status.Form{Detail: true, Color: true}), textOf(t, only, status.Form{Detail: true})
	for _, want := range []string{"\x1b[31mHalted\x1b[0m", "\x1b[32m█", "\x1b[31m▒"} {
		if !strings.Contains(colored, want) {
			t.Errorf("the text lacks %q:\n%q", want, colored)
		}
	}
	for _, code := range []string{"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"} {
		colored = strings.ReplaceAll(colored, code, "")
	}
	if colored != plain || strings.Contains(plain, "\x1b") {
		t.Errorf("colours change the text: %q, and %q without", colored, plain)
	}
}

// Whatever is written into names, messages and statuses, it reaches no terminal, and no
// shell takes a value for anything else.
func TestHostileText(t *testing.T) {
	for name, text := range hostiletexts.Samples() {
		pool := poolOf(text, inWaves(v1.Wave{}), reports(v1.StalledCondition, v1.RolloutHaltedReason, text, 0, 0, 1, 1), func(pool *v1.NodePool) {
			pool.Annotations = map[string]string{v1.FileAnnotation: text, v1.RevisionAnnotation: text}
			pool.Status.Rollout.Halt = &v1.RolloutHalt{Changes: text, Resume: text, Nodes: 1, Node: text}
		})
		report := status.Of(status.Cluster{Pools: []*v1.NodePool{pool}}, now)
		for _, form := range []status.Form{{}, {Detail: true}} {
			var got bytes.Buffer
			if err := report.WriteText(&got, form); err != nil {
				t.Fatal(err)
			}
			if strings.ContainsFunc(got.String(), func(r rune) bool { return r != '\n' && sanitize.Hidden(r) }) || !utf8.Valid(got.Bytes()) {
				t.Errorf("%s is shown as %q", name, got.String())
			}
		}
		if line := report.Pools[0].Line(); strings.ContainsFunc(line, func(r rune) bool { return r == '\n' || sanitize.Hidden(r) }) {
			t.Errorf("%s is shown as %q", name, line)
		}
	}
	pool := poolOf("a'; reboot #", inWaves(v1.Wave{}), reports(v1.StalledCondition, v1.RolloutHaltedReason, "", 0, 0, 1, 1), func(pool *v1.NodePool) {
		pool.Status.Rollout.Halt = &v1.RolloutHalt{Time: metav1.NewTime(now), Changes: "a", Resume: "a", Nodes: 1, Node: "n"}
	})
	steps := status.Of(status.Cluster{Pools: []*v1.NodePool{pool}}, now).Pools[0].Steps
	if !slices.ContainsFunc(steps, func(step status.Step) bool {
		return step.Command == `nodepools resume 'a'\''; reboot #'`
	}) {
		t.Errorf("the steps are %q", steps)
	}
}
