package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/status"
)

// poolWith is a pool of two nodes with a condition.
func poolWith(name, condition, reason string, updated int32) *v1.NodePool {
	return &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodePoolStatus{
		Nodes: &v1.NodeCounts{Desired: 2, Updated: updated, Ready: updated},
		Conditions: []metav1.Condition{
			{Type: v1.ReadyCondition, Status: metav1.ConditionFalse, Reason: reason},
			{Type: condition, Status: metav1.ConditionTrue, Reason: reason},
		},
	}}
}

// withSource is a cluster in which all is complete but for a source.
func withSource(condition, reason string) *observe.Progress {
	pool := poolWith("platform", condition, reason, 0)
	source := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "platform"}, Status: v1.NodePoolSourceStatus{Conditions: pool.Status.Conditions}}
	return &observe.Progress{Sources: []*v1.NodePoolSource{source}, Pools: []*v1.NodePool{completed("batch")}}
}

func completed(name string) *v1.NodePool {
	pool := poolWith(name, v1.ReconcilingCondition, v1.SucceededReason, 2)
	pool.Status.Conditions = []metav1.Condition{{Type: v1.ReadyCondition, Status: metav1.ConditionTrue, Reason: v1.SucceededReason}}
	return pool
}

// answers reads from a list of answers, each a list of pools or an error, one after the
// other.
func answers(all ...any) progressReader {
	return func(context.Context) (*observe.Progress, error) {
		if len(all) == 0 {
			return nil, &observe.NoPoolError{Name: "read once more than it changes"} // which ends a watch
		}
		next := all[0]
		all = all[1:]
		if err, failed := next.(error); failed {
			return nil, err
		}
		if progress, whole := next.(*observe.Progress); whole {
			return progress, nil
		}
		return &observe.Progress{Pools: next.([]*v1.NodePool)}, nil
	}
}

// A watch prints a line for each change, and ends when all nodes have followed, or a pool
// is halted or stalled.
func TestWatchOfStatus(t *testing.T) {
	waits := func(updated int32) *v1.NodePool {
		return poolWith("batch", v1.ReconcilingCondition, v1.WaitingForBudgetReason, updated)
	}
	pools := func(all ...*v1.NodePool) []*v1.NodePool { return all }
	stalled := poolWith("batch", v1.StalledCondition, v1.ConflictReason, 1)
	away := errors.New("it is away")
	for name, c := range map[string]struct {
		reason  string
		pool    string
		answers []any
		code    int
		out     []string
		err     string // a part of what is said beside
	}{
		"followed": {
			"each change is a line", "batch", []any{pools(waits(0)), pools(waits(0)), pools(waits(1)), pools(completed("batch"))}, exitOK,
			[]string{"batch: Waiting, 0 of 2 up to date; waits for their turn", "batch: Waiting, 1 of 2 up to date; waits for their turn", "batch: Complete, 2 of 2 up to date"}, "",
		},
		"stalled": {
			"somebody has to act", "", []any{pools(waits(0), completed("web")), pools(stalled, completed("web"))}, exitFailed,
			[]string{"batch: Waiting, 0 of 2 up to date; waits for their turn", "web: Complete, 2 of 2 up to date", "batch: Stalled, 1 of 2 up to date"}, "",
		},
		"a source is blocked": {
			"somebody has to act, although all pools are complete", "", []any{withSource(v1.ReconcilingCondition, v1.ProgressingReason), withSource(v1.StalledCondition, v1.PruneBlockedReason)}, exitFailed,
			[]string{"source platform: Progressing; Progressing: ", "batch: Complete, 2 of 2 up to date", "source platform: Stalled; PruneBlocked: "}, "",
		},
		"away for a moment": {
			"it is asked again", "", []any{pools(waits(1)), away, away, pools(completed("batch"))}, exitOK,
			[]string{"batch: Waiting, 1 of 2 up to date; waits for their turn", "batch: Complete, 2 of 2 up to date"}, "note: asking again: it is away\n",
		},
		"never there": {"there is nothing to wait for", "", []any{away}, exitUsage, nil, "error: it is away"},
		"deleted":     {"it does not come back", "batch", []any{pools(waits(1)), pools(completed("web"))}, exitUsage, []string{"batch: Waiting, 1 of 2 up to date; waits for their turn"}, `error: there is no pool "batch"`},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			o := statusOptions{pool: c.pool, now: time.Now, period: time.Microsecond, cluster: clusterFlags{timeout: time.Hour}}
			err := work(exitUsage, func(*cobra.Command, []string) error {
				return o.follow(t.Context(), streams{out: &out, err: &errs}, answers(c.answers...))
			})(nil, nil)
			if code := reportError(&errs, "nodepools status", err); code != c.code || !strings.Contains(errs.String(), c.err) || c.err == "" && errs.Len() > 0 {
				t.Errorf("the exit code is %d, want %d, as %s: %s", code, c.code, c.reason, errs.String())
			}
			var lines []string
			if out.Len() > 0 {
				lines = strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			}
			if diff := cmp.Diff(c.out, lines); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A cluster that stays away is given up after the time of one answer.
func TestWatchGivesUp(t *testing.T) {
	const timeout = 50 * time.Millisecond
	o := statusOptions{now: time.Now, period: time.Millisecond, cluster: clusterFlags{timeout: timeout}}
	away, reads, began := errors.New("it is away"), 0, time.Now()
	err := o.follow(t.Context(), streams{out: io.Discard, err: io.Discard}, func(context.Context) (*observe.Progress, error) {
		if reads++; reads > 1 {
			return nil, away
		}
		return &observe.Progress{Pools: []*v1.NodePool{poolWith("batch", v1.ReconcilingCondition, v1.SoakingReason, 1)}}, nil
	})
	if !errors.Is(err, away) || reads < 3 || time.Since(began) < timeout {
		t.Errorf("after %d reads in %v: %v", reads, time.Since(began), err)
	}
}

// On a terminal a status is drawn in place of the one before, where something has changed,
// and no longer than the terminal is high.
func TestTerminalScreen(t *testing.T) {
	var out bytes.Buffer
	text, width, height := "", 10, 24
	s := &terminalScreen{out: &out, size: func() (int, int) { return width, height }, write: func(w io.Writer, _ *status.Report) error {
		_, err := io.WriteString(w, text)
		return err
	}}
	for _, step := range []struct{ reason, text, want string }{
		{"the first is drawn where the cursor is", "one\ntwo\n", "one\ntwo\n"},
		{"nothing has changed", "one\ntwo\n", ""},
		{"it goes in place of two lines", "\x1b[31mthree\x1b[0m\n", "\x1b[2A\x1b[J\x1b[31mthree\x1b[0m\n"},
		{"colours take no room", "a line of 15 ch\n", "\x1b[1A\x1b[Ja line of 15 ch\n"},
		{"a line may take two rows", "one\n", "\x1b[2A\x1b[Jone\n"},
	} {
		out.Reset()
		text = step.text
		if err := s.show(nil); err != nil {
			t.Fatal(err)
		}
		if out.String() != step.want {
			t.Errorf("%s: %q, want %q", step.reason, out.String(), step.want)
		}
	}
	height, text = 5, strings.Repeat("x\n", 9)
	out.Reset()
	if err := s.show(nil); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b[1A\x1b[Jx\nx\nx\n(6 more lines)\n"; out.String() != want {
		t.Errorf("of nine lines on five rows there are %q, want %q", out.String(), want)
	}
}
