package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/apply/preview/review"
)

func TestFailOn(t *testing.T) {
	nodes := 40
	known := review.Review{
		Compared: review.Compared{Nodes: &nodes}, Impact: &impact.Impact{},
		Summary: review.Summary{Counts: review.Counts{Evictions: 12, NodesChanged: 37}},
	}
	for name, test := range map[string]struct {
		reason string
		args   []string
		review review.Review
		code   int
		stderr string
	}{
		"none":     {"nothing is asked", nil, known, 0, ""},
		"below":    {"37 are no 100", []string{"--fail-on", "nodesChanged>=100"}, known, 0, ""},
		"exceeded": {"it is reported what, and how much", []string{"--fail-on", "evictions>0"}, known, 3, "error: the change does more than --fail-on allows\nevictions: 12, and the limit is 0\n"},
		"several": {
			"all of it is reported, from each flag", []string{"--fail-on=evictions>0,conflicts>0", "--fail-on", "nodesChanged>=37"}, known, 3,
			"error: the change does more than --fail-on allows\nevictions: 12, and the limit is 0\nnodesChanged: 37, and the limit is 36\n",
		},
		"not known": {
			"nothing known is not nothing", []string{"--fail-on", "evictions>0"}, review.Review{}, 2,
			"error: --fail-on: evictions not known: the comparison knows no pods\ncompare with a cluster, or give what is known of one: --inventory FILE, which 'nodepools inventory' writes\n",
		},
		"wrong": {
			"a wrong command line", []string{"--fail-on", "evicted>0"}, known, 2,
			"error: invalid argument \"evicted>0\" for \"--fail-on\" flag: threshold \"evicted>0\": \"evicted\" is no count: known are poolsCreated, poolsChanged, poolsDeleted, poolsHeldBack, releasesHeldBack, runtimeClassesCreated, runtimeClassesChanged, runtimeClassesReplaced, runtimeClassesDeleted, nodesChanged, nodesEntering, nodesLeaving, conflicts, newConflicts, problems, newProblems, evictions, podsDrained, finishedPodsDeleted, budgetsExceeded, budgetsBlocking, unschedulable, podsStranded, notRecreated, noFeasibleNode, daemonPodsRemoved, daemonPodsStarted, runtimeClassesInUse, overlaps, waves, evictionsPerWave, policyWeakened, rolloutsBypassed, emptyWaves, rolloutsHalted\nsee 'diff --help'\n",
		},
		"empty": {
			"an empty variable is no threshold", []string{"--fail-on", ""}, known, 2,
			"error: invalid argument \"\" for \"--fail-on\" flag: a threshold is empty: write one such as evictions>0\nsee 'diff --help'\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var f failOn
			cmd := &cobra.Command{Use: "diff", SilenceErrors: true, SilenceUsage: true, RunE: work(exitUsage, func(*cobra.Command, []string) error { return f.check(&test.review) })}
			f.register(cmd)
			cmd.SetArgs(append([]string{}, test.args...))
			var stderr bytes.Buffer
			if code := reportError(&stderr, "diff", cmd.Execute()); code != test.code {
				t.Errorf("%s: exit code %d, want %d", test.reason, code, test.code)
			}
			if diff := cmp.Diff(test.stderr, stderr.String()); diff != "" {
				t.Errorf("%s: standard error (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
