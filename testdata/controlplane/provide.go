package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// tick is how often progress is reported.
const tick = 10 * time.Second

// origin is the ending of a file beside a downloaded program, which says where
// the program came from, with its checksum. A program that was built has none.
const origin = ".downloaded"

// provide puts every component which is missing into dir: what is published is
// downloaded, the rest is built, unless the downloader says that it is not to be: that
// is [errLacking]. Without a downloader all is built, also in
// place of what was downloaded before. Programs appear in dir whole, by renaming,
// so whoever sees one may run it. One process is at work at a time; the others
// wait for it and find its work done.
func provide(ctx context.Context, dir string, components []component, d *downloader) error {
	todo, err := missing(dir, components, d == nil)
	if err != nil || len(todo) == 0 {
		return err
	}
	if d != nil && d.idle {
		return fmt.Errorf("%s: %w", names(todo), errLacking)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the folder of the control plane: %w", err)
	}
	unlock, err := lock(ctx, dir+".lock")
	if err != nil {
		return err
	}
	defer unlock()

	// Once more, behind the lock: another process may have been here meanwhile.
	todo, err = missing(dir, components, d == nil)
	if err != nil || len(todo) == 0 {
		return err
	}
	if err := checkModule(); err != nil {
		return err
	}

	// What a killed process left behind goes too: nobody else holds the lock.
	scratch := filepath.Join(dir, ".building")
	if err := os.RemoveAll(scratch); err != nil {
		return fmt.Errorf("remove what is unfinished: %w", err)
	}
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return fmt.Errorf("create the folder to work in: %w", err)
	}
	start := time.Now()
	err = provideAll(ctx, dir, scratch, todo, d)
	if rmErr := os.RemoveAll(scratch); rmErr != nil {
		err = errors.Join(err, fmt.Errorf("remove the folder to work in: %w", rmErr))
	}
	if err != nil {
		return err
	}
	say("done in %s; from now on it starts at once", since(start))
	return nil
}

func provideAll(ctx context.Context, dir, scratch string, todo []component, d *downloader) error {
	if d != nil {
		say("downloading what is published of %s into %s", names(todo), dir)
		failed := d.download(ctx, dir, scratch, todo)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case failed != nil && d.alone:
			say("not everything can be downloaded: %s", oneLine(failed))
		case failed != nil:
			say("what cannot be downloaded is built: %s", oneLine(failed))
		}
		var err error
		if todo, err = missing(dir, todo, false); err != nil {
			return err
		}
	}
	if len(todo) == 0 {
		return nil
	}
	if d != nil && d.alone {
		return fmt.Errorf("%s: %w", names(todo), errLacking)
	}
	say("building %s%s", names(todo), expectation(todo))
	return buildAll(ctx, dir, scratch, todo)
}

// missing returns the components which dir lacks; those that were downloaded are
// missing too when all is to be built.
func missing(dir string, components []component, built bool) ([]component, error) {
	var lacking []component
	for _, c := range components {
		there, err := exists(filepath.Join(dir, c.name))
		if err == nil && there && built {
			var downloaded bool
			downloaded, err = exists(filepath.Join(dir, c.name+origin))
			there = !downloaded
		}
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", c.name, err)
		}
		if !there {
			lacking = append(lacking, c)
		}
	}
	return lacking, nil
}

func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func names(components []component) string {
	var list []string
	for _, c := range components {
		list = append(list, c.name)
	}
	return strings.Join(list, ", ")
}

func since(start time.Time) time.Duration { return time.Since(start).Round(time.Second) }

// say prints progress. Standard output is kept for the folder's name.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "controlplane: "+format+"\n", args...)
}

// oneLine returns the text of an error, with those that it joins side by side.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' }), "; ")
}
