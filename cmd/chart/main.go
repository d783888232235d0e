// Command chart writes the Helm chart of nodepools into a folder, in place of what is
// there:
//
//	chart charts/nodepools
//
// make generate calls it, and make verify compares what it writes with what is
// committed.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nodepools/nodepools/api/manifests/chart"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "chart: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("name one folder, as in: chart charts/nodepools")
	}
	files, err := chart.Files()
	if err != nil {
		return err
	}
	// What is not written any more must not stay a template.
	if err := os.RemoveAll(filepath.Join(args[0], "templates")); err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(args[0], filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
