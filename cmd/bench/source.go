package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/nodepools/nodepools/source/git"
)

// sourceSize is how large the repository is, and how often each thing is done. What
// is reported of several times is the median, and of memory the most.
type sourceSize struct {
	Files, Commits, Refs int
	Polls, Fetches       int
}

// longHistory is the size that the rows are about.
var longHistory = sourceSize{Files: 10_000, Commits: 2_000, Refs: 20_000, Polls: 30, Fetches: 4}

// sourceRows measures what following a repository costs, in folder, which is empty
// and stays the caller's. Everything is asked of one Git server in one run, the
// others in turns with nodepools.
//
// The program that calls it gives way to runSourceChild where its first argument is
// sourceChild.
func sourceRows(ctx context.Context, folder string, size sourceSize) (figures []Figure, err error) {
	repository, err := makeGitRepository(ctx, filepath.Join(folder, "fleet.git"), size.Files, size.Commits)
	if err != nil {
		return nil, err
	}
	if err := repository.withRefs(ctx, filepath.Join(folder, "refs.git"), size.Refs); err != nil {
		return nil, err
	}
	server, err := serveGit(ctx, folder)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.close()) }()

	polls, err := pollRow(ctx, "source, nothing new", server, "fleet.git", size.Polls)
	if err != nil {
		return nil, err
	}
	busy := fmt.Sprintf("source, nothing new, %s refs", number(float64(size.Refs)))
	refs, err := pollRow(ctx, busy, server, "refs.git", size.Polls)
	if err != nil {
		return nil, err
	}
	change := fmt.Sprintf("source, one pool changed, %s files, %s commits", number(float64(size.Files)), number(float64(size.Commits)))
	fetches, err := changeRow(ctx, change, server, repository, folder, size.Fetches)
	if err != nil {
		return nil, err
	}
	return slices.Concat(polls, refs, fetches), nil
}

// contender is one way of doing something.
type contender struct {
	name string
	// do does it once; a job in a process of its own says what that took.
	do func(context.Context) (sourceDone, error)
}

// outcome is what a contender has taken, round by round.
type outcome struct {
	seconds                  []float64
	peakKiB, firstKiB        []float64
	requests, packs, traffic []float64
}

// compete lets each do it once a round, one after the other, so that a machine that
// is slow for a while is slow for all of them. Each round begins with another one: the
// first may find less in the system's caches.
func compete(ctx context.Context, server *gitServer, rounds int, before func(context.Context) error, all []contender) ([]outcome, error) {
	outcomes := make([]outcome, len(all))
	for round := range rounds {
		if err := before(ctx); err != nil {
			return nil, err
		}
		for turn := range all {
			i := (round + turn) % len(all)
			c := all[i]
			var done sourceDone
			traffic, err := server.during(ctx, func() (err error) {
				done, err = c.do(ctx)
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			o := &outcomes[i]
			o.seconds = append(o.seconds, done.Seconds)
			o.peakKiB = append(o.peakKiB, float64(done.PeakKiB))
			o.firstKiB = append(o.firstKiB, float64(done.FirstKiB))
			o.requests = append(o.requests, float64(traffic.Requests))
			o.packs = append(o.packs, float64(traffic.Packs))
			o.traffic = append(o.traffic, float64(traffic.Bytes))
		}
	}
	return outcomes, nil
}

// beside makes a figure for each contender that the first is compared with.
func beside(row, name, unit string, all []contender, outcomes []outcome, of func(outcome) float64) []Figure {
	var figures []Figure
	for i := 1; i < len(all); i++ {
		figures = append(figures, Figure{
			Row: row, Name: name, Unit: unit, Value: of(outcomes[0]),
			Baseline: &Baseline{Name: all[i].name, Value: of(outcomes[i])},
		})
	}
	return figures
}

// pollRow is a look at a repository that has nothing new.
func pollRow(ctx context.Context, row string, server *gitServer, name string, polls int) ([]Figure, error) {
	url := server.url + "/" + name
	caches := git.NewCaches()
	defer caches.Close()
	poll := follow(url)
	poll.Cache = caches.Of(url, "")
	known, err := poll.Head(ctx)
	if err != nil {
		return nil, err
	}
	// What is fetched goes through a temporary file: where there can be none, only a
	// poll that fetches nothing succeeds.
	poll.TempDir = filepath.Join("no", "such", "folder")
	timed := func(what func(context.Context) error) func(context.Context) (sourceDone, error) {
		return func(ctx context.Context) (sourceDone, error) {
			began := time.Now()
			err := what(ctx)
			return sourceDone{Seconds: time.Since(began).Seconds()}, err
		}
	}
	// With --heads, git has the server leave out what is no branch.
	all := []contender{
		{"nodepools", timed(func(ctx context.Context) error {
			_, snapshot, err := poll.Latest(ctx, known)
			if err == nil && snapshot != nil {
				err = errors.New("a poll has fetched what it knew")
			}
			return err
		})},
		{"git ls-remote --heads", timed(func(ctx context.Context) error {
			return runGit(ctx, "", nil, "ls-remote", "--heads", url, "refs/heads/main")
		})},
		{"go-git, listing of refs", timed(func(ctx context.Context) error {
			_, err := goGitList(ctx, url)
			return err
		})},
	}
	outcomes, err := compete(ctx, server, polls, func(context.Context) error { return nil }, all)
	if err != nil {
		return nil, err
	}
	return slices.Concat(
		[]Figure{
			{Row: row, Name: "requests", Unit: "requests", Value: slices.Max(outcomes[0].requests), Target: &Target{AtMost: 1}},
			{Row: row, Name: "requests for objects", Unit: "requests", Value: slices.Max(outcomes[0].packs), Target: &Target{AtMost: 0}},
			{Row: row, Name: "both ways", Unit: "KiB", Value: slices.Max(outcomes[0].traffic) / 1024, Target: &Target{AtMost: 2}},
		},
		beside(row, "requests", "requests", all, outcomes, func(o outcome) float64 { return median(o.requests) }),
		beside(row, "both ways", "KiB", all, outcomes, func(o outcome) float64 { return median(o.traffic) / 1024 }),
		beside(row, "time", "ms", all, outcomes, func(o outcome) float64 { return median(o.seconds) * 1000 }),
	), nil
}

// changeRow is a look at a repository in which one file of the pools has changed,
// each in a process of its own. nodepools has read the commit before in that process, and
// its memory is the most of both. git is there twice: with nothing, as nodepools is at
// its start, and with the commit before.
func changeRow(ctx context.Context, row string, server *gitServer, repository *gitRepository, folder string, fetches int) ([]Figure, error) {
	url := server.url + "/" + filepath.Base(repository.dir)
	fetch := func(dir string) sourceJob {
		return sourceJob{By: "git", Dir: dir, Git: []string{
			"-c", "gc.auto=0", "fetch", "--quiet", "--depth", "1", "--no-tags", url, "+refs/heads/main:refs/heads/main",
		}}
	}
	old, fresh, round := filepath.Join(folder, "old-clone.git"), "", 0
	if err := runGit(ctx, "", nil, "init", "--quiet", "--bare", old); err != nil {
		return nil, err
	}
	if _, err := fetch(old).do(ctx); err != nil {
		return nil, err
	}
	var follower *child
	stop := func() {
		if follower != nil {
			follower.stop()
		}
	}
	defer func() { stop() }()
	before := func(ctx context.Context) (err error) {
		round++
		stop()
		if follower, err = (sourceJob{By: "nodepools", URL: url, Follow: true}).start(ctx); err != nil {
			return err
		}
		fresh = filepath.Join(folder, fmt.Sprintf("new-clone-%d.git", round))
		return errors.Join(repository.changePool(ctx), runGit(ctx, "", nil, "init", "--quiet", "--bare", fresh))
	}
	all := []contender{
		{"nodepools", func(context.Context) (sourceDone, error) { return follower.finish() }},
		{"git fetch --depth 1 into nothing", func(ctx context.Context) (sourceDone, error) { return fetch(fresh).inChild(ctx) }},
		{"git fetch --depth 1 onto the commit before", func(ctx context.Context) (sourceDone, error) { return fetch(old).inChild(ctx) }},
		{"go-git, shallow clone into memory", func(ctx context.Context) (sourceDone, error) {
			return sourceJob{By: "go-git", URL: url}.inChild(ctx)
		}},
	}
	outcomes, err := compete(ctx, server, fetches, before, all)
	if err != nil {
		return nil, err
	}
	times := beside(row, "time", "s", all, outcomes, func(o outcome) float64 { return median(o.seconds) })
	traffic := beside(row, "both ways", "KiB", all, outcomes, func(o outcome) float64 { return median(o.traffic) / 1024 })
	const onto = 1 // of those that are compared with: git, which has the commit before, too
	times[onto].Target, traffic[onto].Target = &Target{AtMost: 1.5}, &Target{AtMost: 2}
	return slices.Concat(
		times,
		beside(row, "peak memory", "MiB", all, outcomes, func(o outcome) float64 { return slices.Max(o.peakKiB) / 1024 }),
		[]Figure{{Row: row, Name: "peak memory, the whole fetch before", Unit: "MiB", Value: slices.Max(outcomes[0].firstKiB) / 1024, Target: &Target{AtMost: 56}}},
		traffic,
		beside(row, "requests", "requests", all, outcomes, func(o outcome) float64 { return median(o.requests) }),
	), nil
}
