// Command bundle writes a bundle for the Operator Lifecycle Manager into a folder, in place
// of what is there:
//
//	bundle -version v1.2.3 -image registry.example.com/nodepools:v1.2.3 bin/bundle
//
// With -rollout, the controller gets the rights to drain nodes, as by nodepools install
// --rollout.
//
// make bundle calls it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/nodepools/nodepools/api/manifests"
	"github.com/nodepools/nodepools/api/manifests/bundle"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "bundle: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("bundle", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says it
	version := flags.String("version", "", "version of the release, such as v1.2.3")
	image := flags.String("image", "", "image of the controller; that of the release where it is empty")
	rollout := flags.Bool("rollout", false, "let the controller list and evict pods, to drain nodes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("name one folder, as in: bundle -version v1.2.3 bin/bundle")
	}
	if *image == "" {
		*image = manifests.DefaultRepository + ":" + *version
	}
	files, err := bundle.Files(bundle.Options{Version: *version, Image: *image, Rollout: *rollout})
	if err != nil {
		return fmt.Errorf("%w\nname the version of a release: make bundle VERSION=v1.2.3", err)
	}
	dir := flags.Arg(0)
	// What is not written any more must not stay in the bundle.
	for _, folder := range []string{"manifests", "metadata"} {
		if err := os.RemoveAll(filepath.Join(dir, folder)); err != nil {
			return err
		}
	}
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
