package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/apply/inventory"
)

func newInventory(std streams) *cobra.Command {
	o := inventoryOptions{build: readBuildInfo(version, debug.ReadBuildInfo)}
	cmd := &cobra.Command{
		Use:   "inventory",
		Short: "Write down a cluster, for reviews without a way to it",
		Long: `Reads a cluster and prints as much of it as 'nodepools diff --inventory' needs
to tell what a change of pools does to nodes and pods: nodes, NodePools and
their sources, RuntimeClasses, pods, what makes them, and PodDisruptionBudgets.
Commit the file, and let a nightly job keep it fresh.

There is no Secret in it, no environment variable and no image. Of annotations
of nodes it has the values that pools are about; of all others the key alone.
Who set a value is not in it.

Nothing is written to the cluster. 'nodepools install --viewer' prints a role
that may list what is read, and nothing else.`,
		Example: `  nodepools inventory -o inventory.json

  # of another cluster
  nodepools inventory --context production -o production.json

  # what a change would do, without the cluster
  nodepools diff --base origin/main --inventory inventory.json`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: work(exitFailed, func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return o.run(cmd.Context(), std)
		}),
	}
	cmd.Flags().StringVarP(&o.file, "output", "o", "-", "`file` to write, replaced as a whole; - is standard output")
	o.cluster.register(cmd)
	return cmd
}

type inventoryOptions struct {
	file    string
	cluster clusterFlags
	build   buildInfo
}

func (o *inventoryOptions) check() error {
	if o.file == "" {
		return usagef("--output is empty: name a file, or - for standard output")
	}
	return o.cluster.check()
}

func (o *inventoryOptions) run(ctx context.Context, std streams) error {
	cluster, err := connect(o.cluster, o.build.userAgent())
	if err != nil {
		return err
	}
	taken, err := cluster.takeInventory(ctx, false)
	if err != nil {
		return err
	}
	if !taken.installed {
		std.note("%s does not know NodePools, so the inventory has none; see 'nodepools install'", serverName(cluster.config))
	}
	var text bytes.Buffer
	if err := inventory.Write(&text, taken.Inventory); err != nil {
		return err
	}
	// It is looked at as a change in Git, too.
	inert := []byte(sanitize.JSON(text.String()))
	if o.file == "-" {
		return printAll(std.out, inert)
	}
	return replaceFile(o.file, inert)
}

// replaceFile writes a file whole or not at all: whoever reads it meanwhile reads
// the one before.
func replaceFile(path string, data []byte) (err error) {
	// A link stays one, also where what it leads to is yet to be written.
	if path, err = linked(path); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return hinted{fmt.Errorf("%s is not a file that can be replaced", path), "print to it instead: leave --output out and use the shell's >"}
	default:
		mode = info.Mode().Perm()
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(file.Name()))
		}
	}()
	_, err = file.Write(data)
	if err = errors.Join(err, file.Chmod(mode), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// maxLinks is how many links may lead from one to the next, as in Linux.
const maxLinks = 40

// linked is the file that a link leads to, be it there or not; the path itself
// where it is no link.
func linked(path string) (string, error) {
	at := path
	for range maxLinks {
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return at, nil
		case err != nil:
			return "", err
		case info.Mode()&os.ModeSymlink == 0:
			return at, nil
		}
		to, err := os.Readlink(at)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			// Not joined, which would take "a/.." for nothing: a may be a link, too.
			to = filepath.Dir(at) + string(filepath.Separator) + to
		}
		at = to
	}
	return "", fmt.Errorf("%s: too many links lead from one to the next", path)
}
