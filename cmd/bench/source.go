package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nodepools/nodepools/source/git"
)

// The repository is like one that people have had for years: many files, among them those of
// the pools, a long history, and a ref for each pull request.
const (
	sourceFiles   = 10_000
	sourceCommits = 2_000
	sourceRefs    = 20_000
	sourcePolls   = 30 // of which the median is shown
	sourceFetches = 4
)

// sourceRow measures what it costs to follow a repository, in turn with git, at one server.
func sourceRow(ctx context.Context, _ options) (figures []Figure, err error) {
	dir, err := os.MkdirTemp("", "nodepools-bench-source-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	h, err := makeHistory(ctx, dir, sourceFiles, sourceCommits)
	if err != nil {
		return nil, err
	}
	server, err := serveGit(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.close()) }()

	row := fmt.Sprintf("source, one pool changed, %s files, %s commits", number(sourceFiles), number(sourceCommits))
	changed, err := changeFigures(ctx, row, server, h, sourceFetches)
	if err != nil {
		return nil, err
	}
	if err := h.addRefs(ctx, sourceRefs); err != nil {
		return nil, err
	}
	row = fmt.Sprintf("source, nothing new, %s refs", number(sourceRefs))
	polled, err := pollFigures(ctx, row, server, sourcePolls)
	return append(polled, changed...), err
}

// follow is the repository as the controller follows it.
func follow(url string) (repository *git.Repository, done func()) {
	caches := git.NewCaches()
	return &git.Repository{
		URL: url, Ref: git.Ref{Branch: "main"}, Path: poolsPath, Timeout: 10 * time.Minute, Cache: caches.Of(url, ""),
	}, caches.Close
}

// pollFigures are about a look at a repository that has nothing new.
func pollFigures(ctx context.Context, row string, server *gitServer, polls int) ([]Figure, error) {
	url := server.url + "/" + historyName
	poll, done := follow(url)
	defer done()
	known, err := poll.Head(ctx)
	if err != nil {
		return nil, err
	}
	ours, theirs, err := inTurn(ctx, server, polls, func(ctx context.Context) error {
		_, snapshot, err := poll.Latest(ctx, known)
		if err == nil && snapshot != nil {
			err = errors.New("a poll has fetched the revision that it knew")
		}
		return err
	}, func(ctx context.Context) error {
		return gits(ctx, "", []string{"ls-remote", "--heads", url, "refs/heads/main"})
	})
	return []Figure{
		{Row: row, Name: "requests", Unit: "requests", Value: slices.Max(ours.requests), Target: &Target{1}},
		{Row: row, Name: "requests for objects", Unit: "requests", Value: slices.Max(ours.packs), Target: &Target{0}},
		{Row: row, Name: "both ways, the most", Unit: "KiB", Value: slices.Max(ours.bytes) / 1024, Target: &Target{2}},
		{Row: row, Name: "time", Unit: "ms", Value: 1000 * median(ours.seconds),
			Baseline: &Baseline{"git ls-remote --heads", 1000 * median(theirs.seconds)}},
	}, err
}

// changeFigures are about a look at a repository in which one pool has changed. Both
// nodepools and git have the commit before.
func changeFigures(ctx context.Context, row string, server *gitServer, h *history, fetches int) ([]Figure, error) {
	url, clone := server.url+"/"+historyName, filepath.Join(filepath.Dir(h.dir), "clone.git")
	fetch := []string{"-c", "gc.auto=0", "fetch", "--quiet", "--depth", "1", "--no-tags", url, "+refs/heads/main:refs/heads/main"}
	if err := gits(ctx, "", []string{"init", "--quiet", "--bare", clone}); err != nil {
		return nil, err
	}
	if err := gits(ctx, clone, fetch); err != nil {
		return nil, err
	}
	poll, done := follow(url)
	defer done()
	known, _, err := poll.Latest(ctx, "")
	if err != nil {
		return nil, err
	}
	var ours, theirs asked
	for range fetches {
		if err := h.changePool(ctx); err != nil {
			return nil, err
		}
		us, them, err := inTurn(ctx, server, 1, func(ctx context.Context) error {
			was := known
			known, _, err = poll.Latest(ctx, was)
			if err == nil && known == was {
				err = errors.New("a poll has found nothing new")
			}
			return err
		}, func(ctx context.Context) error { return gits(ctx, clone, fetch) })
		if err != nil {
			return nil, err
		}
		ours, theirs = ours.and(us), theirs.and(them)
	}
	const by = "git fetch --depth 1 onto the commit before"
	return []Figure{
		{Row: row, Name: "time", Unit: "s", Value: median(ours.seconds), Baseline: &Baseline{by, median(theirs.seconds)}, Target: &Target{1.5}},
		{Row: row, Name: "both ways", Unit: "KiB", Value: median(ours.bytes) / 1024, Baseline: &Baseline{by, median(theirs.bytes) / 1024}, Target: &Target{2}},
		{Row: row, Name: "requests", Unit: "requests", Value: median(ours.requests), Baseline: &Baseline{by, median(theirs.requests)}},
	}, nil
}

// inTurn lets nodepools and git do something several times, in turn.
func inTurn(ctx context.Context, server *gitServer, rounds int, us, git func(context.Context) error) (ours, theirs asked, err error) {
	for range rounds {
		for _, one := range []struct {
			do  func(context.Context) error
			sum *asked
		}{{us, &ours}, {git, &theirs}} {
			took, err := server.during(ctx, one.do)
			if err != nil {
				return ours, theirs, err
			}
			*one.sum = one.sum.and(took)
		}
	}
	return ours, theirs, nil
}
