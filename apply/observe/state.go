package observe

import (
	"context"
	"fmt"
	"os"

	"github.com/nodepools/nodepools/api/hint"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// State is what lives in a cluster, as far as it is known.
type State struct {
	plan.Cluster
	Sources []*v1.NodePoolSource
	// Installed is false where the cluster does not know the kind NodePool.
	Installed bool
	// Name is for the reader: "cluster https://10.0.0.1:6443".
	Name string
	// NodesKnown is false where nothing at all is known of nodes.
	NodesKnown bool
	// Inventory is all that is known, with pods; nil where pods are not known.
	Inventory *inventory.Inventory
	// Taken is when a file was written, as RFC 3339 has it; empty for a cluster, which
	// is as it is.
	Taken string
	// Server that was asked; nil for a file.
	Server *Server
	// Notes are what the reader should know of how the state was read.
	Notes []string
}

// Kind names in an error what was read.
func (s *State) Kind() string {
	if s.Server != nil {
		return "the cluster"
	}
	return "the inventory"
}

// State reads all that there is. Pods are optional: a user who may not list them gets
// a note.
func (s *Server) State(ctx context.Context) (*State, error) {
	read, err := s.Inventory(ctx, true)
	if err != nil {
		return nil, err
	}
	state := s.state(read)
	state.Notes = read.Notes(s.Name())
	if len(read.Withheld) == 0 {
		state.Inventory = read.Inventory
	}
	return state, nil
}

// StateWithoutPods reads nodes, pools, their sources and RuntimeClasses alone.
func (s *Server) StateWithoutPods(ctx context.Context) (*State, error) {
	read, err := s.nodesAndPools(ctx)
	if err != nil {
		return nil, err
	}
	return s.state(read), nil
}

func (s *Server) state(read *Inventory) *State {
	return &State{
		Cluster: read.Cluster, Sources: read.Sources, Installed: read.Installed,
		Name: "cluster " + s.Name(), NodesKnown: true, Server: s,
	}
}

// File takes an inventory file for the cluster that it is of.
func File(name string) (*State, error) {
	const remedy = "'nodepools inventory' writes such a file"
	file, err := os.Open(name)
	if err != nil {
		return nil, hint.Add(fmt.Errorf("inventory: %w", err), remedy)
	}
	defer file.Close()
	read, err := inventory.Read(file)
	if err != nil {
		return nil, hint.Add(fmt.Errorf("inventory %s: %w", name, err), remedy)
	}
	state := &State{
		Cluster: read.Cluster, Sources: read.Sources, Installed: true,
		Name: "inventory " + name, NodesKnown: true, Taken: read.Taken,
	}
	if read.Pods == nil {
		state.Notes = append(state.Notes, "what happens to pods is not shown: the inventory "+name+" was taken by somebody who may not list them")
	} else {
		state.Inventory = read
	}
	return state, nil
}
