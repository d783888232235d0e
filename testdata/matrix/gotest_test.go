package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What go test -json prints, but for the times and the package.
const events = `{"Action":"start"}
{"Action":"run","Test":"TestPasses"}
{"Action":"output","Test":"TestPasses","Output":"=== RUN   TestPasses\n"}
{"Action":"output","Test":"TestPasses","Output":"    a_test.go:7: this is of no interest\n"}
{"Action":"pass","Test":"TestPasses","Elapsed":1.25}
{"Action":"run","Test":"TestSkips"}
{"Action":"output","Test":"TestSkips","Output":"    a_test.go:9: there is no helm\n"}
{"Action":"output","Test":"TestSkips","Output":"--- SKIP: TestSkips (0.00s)\n"}
{"Action":"skip","Test":"TestSkips","Elapsed":0}
go: a line that is no event
{"Action":"output","Test":"TestFails","Output":"=== RUN   TestFails\n"}
{"Action":"output","Test":"TestFails/sub","Output":"    b_test.go:12: the taint is gone | lost\n"}
{"Action":"fail","Test":"TestFails/sub","Elapsed":0.5}
{"Action":"output","Test":"TestFails/sub","Output":"        b_test.go:13: and more\n"}
{"Action":"fail","Test":"TestFails","Elapsed":0.5}
{"Action":"pass","Test":"TestScripts/one","Elapsed":0.1}
{"Action":"pass","Test":"TestScripts/other","Elapsed":0.1}
{"Action":"fail","Test":"TestScripts","Elapsed":0.2}
{"Action":"output","Test":"TestTornOff","Output":"=== RUN   TestTornOff\n"}
{"Action":"output","Output":"panic: a process has died\n"}
{"Action":"fail","Elapsed":3}
`

func TestJudge(t *testing.T) {
	var tests []named
	for _, name := range []string{"TestPasses", "TestSkips", "TestFails", "TestScripts/one", "TestTornOff"} {
		tests = append(tests, named{name: name})
	}
	var log bytes.Buffer
	got := judge(strings.NewReader(events), &log, tests)
	want := map[string]Result{
		"TestPasses":      {Outcome: passed},
		"TestSkips":       {Outcome: skippedTest, Reason: "there is no helm"},
		"TestFails":       {Outcome: failed, Reason: "the taint is gone | lost"},
		"TestScripts/one": {Outcome: passed},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	for _, part := range []string{"pass TestPasses (1.2s)", "skip TestSkips", "FAIL TestFails", "b_test.go:13: and more", "go: a line that is no event", "panic: a process has died"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("no %q in\n%s", part, &log)
		}
	}
	if part := "of no interest"; strings.Contains(log.String(), part) {
		t.Errorf("%q in\n%s", part, &log)
	}
}

// No test counts as passed that has not ended, nor where the package has failed and none of
// its tests is to blame.
func TestSettle(t *testing.T) {
	a, b := named{name: "a"}, named{name: "b"}
	broken := errors.New("exit status 1")
	for name, tc := range map[string]struct {
		reason string
		found  map[string]Result
		err    error
		want   [2]string
	}{
		"well":            {"both have passed", map[string]Result{"a": {Outcome: passed}, "b": {Outcome: passed}}, nil, [2]string{passed, passed}},
		"one fails":       {"it is not the other's", map[string]Result{"a": {Outcome: passed}, "b": {Outcome: failed}}, broken, [2]string{passed, failed}},
		"one is skipped":  {"that is no failure", map[string]Result{"a": {Outcome: passed}, "b": {Outcome: skippedTest}}, nil, [2]string{passed, skippedTest}},
		"one is torn off": {"it has begun and not ended", map[string]Result{"a": {Outcome: passed}}, broken, [2]string{passed, failed}},
		"one is unknown":  {"go test says nothing of a test that there is not", map[string]Result{"a": {Outcome: passed}}, nil, [2]string{passed, failed}},
		"not compiled":    {"none has run", nil, broken, [2]string{failed, failed}},
		"left behind":     {"TestMain has found something in the end", map[string]Result{"a": {Outcome: passed}, "b": {Outcome: skippedTest}}, broken, [2]string{failed, failed}},
	} {
		results := map[named]Result{}
		settle([]named{a, b}, tc.found, tc.err, results)
		if got := [2]string{results[a].Outcome, results[b].Outcome}; got != tc.want {
			t.Errorf("%s: %s: got %v, want %v", name, tc.reason, got, tc.want)
		}
	}
}

func TestReasonIsShort(t *testing.T) {
	got := resultOf(event{Action: "fail"}, []string{"    a_test.go:1: " + strings.Repeat("é", 1000)})
	if n := len([]rune(got.Reason)); n > 200 {
		t.Errorf("%d characters", n)
	}
	if got := resultOf(event{Action: "skip"}, nil); got.Reason == "" {
		t.Error("a test without a reason gets none")
	}
}
