package main

import (
	"fmt"
	"io"
	"os"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/plan"
)

const nodesHint = "--nodes takes a file with what 'kubectl get nodes -o yaml' prints, or - for standard input"

// nodesFile reads nodes as kubectl prints them, from a file or, for -, from
// standard input.
func nodesFile(path string, stdin io.Reader) ([]*plan.NodeState, error) {
	name, from := path, stdin
	if path == "-" {
		name = "standard input"
	} else {
		file, err := os.Open(path)
		if err != nil {
			return nil, hint.Add(fmt.Errorf("--nodes: %w", err), nodesHint)
		}
		defer file.Close()
		from = file
	}
	nodes, err := observe.ReadNodes(from)
	if err != nil {
		return nil, hint.Add(fmt.Errorf("nodes of %s: %w", name, err), nodesHint)
	}
	return nodes, nil
}
