package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// Where a commit is looked for that matters to an upgrade: the definitions, and the files
// that define the record. There, a line counts that has a field or names the version.
const (
	definitions  = "api/crds/*.yaml"
	recordFiles  = "apply/plan/record*.go"
	recordFormat = `json:"|ecordVersion *=`
	testFiles    = ":!*_test.go"
	// controllerFile is there since there is a program that can be installed and run.
	controllerFile = "cmd/nodepools/run.go"
)

// commit is one whose program is run.
type commit struct {
	id    string // 40 hex digits
	title string
	// record reports that it changed the record; else it changed a definition.
	record bool
}

func (c commit) short() string { return c.id[:7] }

// history returns the commits up to the present one that changed a record or a definition,
// the newest first, and how many did so before there was a program to run. In place of these,
// the first one with a program is the last one returned.
func history(ctx context.Context) (found []commit, without int, err error) {
	changedRecord, err := revisions(ctx, "HEAD", "-G"+recordFormat, "--", recordFiles, testFiles)
	if err != nil {
		return nil, 0, err
	}
	changed, err := revisions(ctx, "HEAD", "--", definitions)
	if err != nil {
		return nil, 0, err
	}
	programs, err := revisions(ctx, "HEAD", "--diff-filter=A", "--", controllerFile)
	if err != nil {
		return nil, 0, err
	}
	changed = append(changed, programs[max(0, len(programs)-1):]...)
	all, err := revisions(ctx, "HEAD")
	if err != nil {
		return nil, 0, err
	}
	for _, one := range all {
		one.record = slices.ContainsFunc(changedRecord, one.is)
		if !one.record && !slices.ContainsFunc(changed, one.is) {
			continue
		}
		if runs(ctx, one) {
			found = append(found, one)
		} else {
			without++
		}
	}
	return found, without, nil
}

func (c commit) is(other commit) bool { return c.id == other.id }

// runs reports whether the program of a commit can be installed and run.
func runs(ctx context.Context, c commit) bool {
	return exec.CommandContext(ctx, "git", "cat-file", "-e", c.id+":"+controllerFile).Run() == nil
}

// named returns the commits that a user names, in this order.
func named(ctx context.Context, names []string) ([]commit, error) {
	known, _, err := history(ctx)
	if err != nil {
		return nil, err
	}
	var all []commit
	for _, name := range names {
		found, err := revisions(ctx, "-1", "--end-of-options", name)
		if err != nil {
			return nil, fmt.Errorf("%q is no commit: %w", name, err)
		}
		if !runs(ctx, found[0]) {
			return nil, fmt.Errorf("commit %s has no program that can be run", name)
		}
		if i := slices.IndexFunc(known, found[0].is); i >= 0 {
			found[0] = known[i]
		}
		all = append(all, found[0])
	}
	return all, nil
}

// revisions are what git log prints, by its arguments.
func revisions(ctx context.Context, args ...string) ([]commit, error) {
	printed, err := output(ctx, "git", append([]string{"log", "--format=%H %s"}, args...)...)
	if err != nil {
		return nil, err
	}
	var all []commit
	for line := range strings.Lines(printed) {
		id, title, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		all = append(all, commit{id: id, title: title})
	}
	return all, nil
}

// output returns what a program prints. The error has what it says on standard error.
func output(ctx context.Context, name string, args ...string) (string, error) {
	var said strings.Builder
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = &said
	printed, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return string(printed), nil
}
