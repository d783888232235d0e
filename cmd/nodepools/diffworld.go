package main

import (
	"context"
	"fmt"
	"os"

	"github.com/nodepools/nodepools/apply/inventory"
)

// world is where the contents of a cluster are known from.
type world struct {
	// name is for the reader: "cluster https://10.0.0.1:6443".
	name string
	// nodesKnown is false where nothing at all is known of nodes.
	nodesKnown bool
	// inventory is all that is known, with pods; nil where pods are not known.
	inventory *inventory.Inventory
	// taken is when a file was written, as RFC 3339 has it; empty for a cluster, which
	// is as it is.
	taken string
	// cluster that was asked; nil for a file.
	cluster *liveCluster
	notes   []string
}

// kind names a world in an error.
func (w world) kind() string {
	if w.cluster != nil {
		return "the cluster"
	}
	return "the inventory"
}

// there is the cluster to compare with: that of --inventory, or the one that the
// kubeconfig file names.
func (o *diffOptions) there(ctx context.Context) (*contents, error) {
	if o.against.inventory != "" {
		return readInventory(o.against.inventory)
	}
	cluster, err := connect(o.cluster, o.build.userAgent())
	if err != nil {
		return nil, err
	}
	taken, err := cluster.takeInventory(ctx, true)
	if err != nil {
		return nil, err
	}
	live := &contents{Cluster: taken.Cluster, sources: taken.Sources, installed: taken.installed}
	live.world = world{name: "cluster " + serverName(cluster.config), nodesKnown: true, cluster: cluster, notes: taken.notes(serverName(cluster.config))}
	if len(taken.withheld) == 0 {
		live.inventory = taken.Inventory
	}
	return live, nil
}

// readInventory takes a file for the cluster that it is of.
func readInventory(name string) (*contents, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, hinted{fmt.Errorf("inventory: %w", err), "'nodepools inventory' writes such a file"}
	}
	defer file.Close()
	inv, err := inventory.Read(file)
	if err != nil {
		return nil, hinted{fmt.Errorf("inventory %s: %w", name, err), "'nodepools inventory' writes such a file"}
	}
	there := &contents{
		Cluster: inv.Cluster, sources: inv.Sources, installed: true,
		world: world{name: "inventory " + name, nodesKnown: true, taken: inv.Taken},
	}
	if inv.Pods == nil {
		there.notes = append(there.notes, "what happens to pods is not told: the inventory "+name+" was taken by somebody who may not list them")
	} else {
		there.inventory = inv
	}
	return there, nil
}
