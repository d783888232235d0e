package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is what go test -json prints of a test, or of a package where there is no test.
type event struct {
	Action, Test, Output string
	Elapsed              float64 // in seconds
}

// test runs the tests on a version of Kubernetes, and returns what has become of them.
func (m matrix) test(ctx context.Context, version string) ([]Area, error) {
	tests := testsOf(m.short)
	results := map[named]Result{}
	start := time.Now()
	for len(tests) > 0 {
		folder := tests[0].folder
		here := slices.DeleteFunc(slices.Clone(tests), func(t named) bool { return t.folder != folder })
		tests = slices.DeleteFunc(tests, func(t named) bool { return t.folder == folder })
		if err := m.testFolder(ctx, version, folder, here, results); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(os.Stderr, "Kubernetes %s: tests have run for %s\n", version, time.Since(start).Round(time.Second))
	return inAreas(testsOf(m.short), results), nil
}

// testFolder runs the tests of one package.
func (m matrix) testFolder(ctx context.Context, version, folder string, tests []named, results map[named]Result) error {
	fmt.Fprintf(os.Stderr, "Kubernetes %s: %d tests of %s\n", version, len(tests), folder)
	args := []string{"test", "-json", "-count=1", "-timeout=30m", "-run", pattern(tests)}
	if m.race {
		args = append(args, "-race")
	}
	cmd := command(ctx, "go", append(args, "./"+folder)...)
	cmd.Env = append(cmd.Env, "NODEPOOLS_KUBERNETES="+version)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	found := judge(pipe, os.Stderr, tests)
	err = cmd.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	settle(tests, found, err, results)
	return nil
}

// settle adds the results of a package, whose tests have ended with an error where they
// have failed. Nothing is found of tests that could not be compiled.
func settle(tests []named, found map[string]Result, err error, results map[named]Result) {
	blamed := false
	for _, t := range tests {
		result, ran := found[t.name]
		if !ran {
			result = Result{Outcome: failed, Reason: "it has not run to its end"}
		}
		blamed = blamed || result.Outcome == failed
		results[t] = result
	}
	if err == nil || blamed {
		return
	}
	// As where a process is left behind, which no single test has to answer for.
	for _, t := range tests {
		results[t] = Result{Outcome: failed, Reason: "the tests of its package have failed together"}
	}
}

// judge reads the events of tests, and returns the results by name. It prints each result,
// and all that a test has printed that has failed.
func judge(events io.Reader, log io.Writer, tests []named) map[string]Result {
	results := map[string]Result{}
	printed := map[string][]string{}
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadString('\n')
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			fmt.Fprint(log, line) // it is no event, so it is for people
		}
		wanted := slices.ContainsFunc(tests, func(t named) bool { return t.name == e.Test })
		switch e.Action {
		case "output", "build-output":
			top, _, _ := strings.Cut(e.Test, "/")
			printed[top] = append(printed[top], e.Output)
			if top != e.Test && wanted {
				printed[e.Test] = append(printed[e.Test], e.Output)
			}
		case "pass", "skip":
			if wanted {
				results[e.Test] = resultOf(e, printed[e.Test])
				fmt.Fprintf(log, "  %-4s %s (%.1fs)\n", e.Action, e.Test, e.Elapsed)
			}
		case "fail":
			if wanted {
				results[e.Test] = resultOf(e, printed[e.Test])
			}
			if !strings.Contains(e.Test, "/") {
				fmt.Fprintf(log, "  FAIL %s (%.1fs)\n%s", e.Test, e.Elapsed, strings.Join(printed[e.Test], ""))
			}
		}
		if err != nil {
			return results
		}
	}
}

// Outcomes of a test.
const (
	passed      = "passed"
	failed      = "failed"
	skippedTest = "skipped"
)

// said is a line that a test has logged, after the place in its file.
var said = regexp.MustCompile(`^\s*\w+\.go:\d+: (.*)$`)

// resultOf is the result of a test that has ended, with the first thing that it has said.
func resultOf(e event, printed []string) Result {
	outcome := map[string]string{"pass": passed, "fail": failed, "skip": skippedTest}[e.Action]
	if outcome == passed {
		return Result{Outcome: outcome}
	}
	for _, line := range printed {
		if match := said.FindStringSubmatch(strings.TrimRight(line, "\n")); match != nil {
			return Result{Outcome: outcome, Reason: short(match[1])}
		}
	}
	return Result{Outcome: outcome, Reason: "it gives no reason"}
}

// short is the beginning of a text, as a table has no place for more.
func short(text string) string {
	const most = 160
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
