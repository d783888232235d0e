package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// liveNode is one node, and the pools around it.
type liveNode struct {
	node  *corev1.Node
	pools []*v1.NodePool
	// installed is false where the cluster does not know the kind NodePool.
	installed bool
}

// readNode reads a node and all pools. The node is listed by its name, so that a
// role which can list is enough here too.
func (l *liveCluster) readNode(ctx context.Context, name string) (*liveNode, error) {
	ctx, cancel := context.WithTimeout(ctx, l.flags.timeout)
	defer cancel()
	found := &liveNode{installed: true}
	var nodes corev1.NodeList
	if err := l.reader.List(ctx, &nodes, client.MatchingFields{"metadata.name": name}); err != nil {
		return nil, l.explain("nodes", err)
	}
	if len(nodes.Items) == 0 {
		return nil, l.noNode(ctx, name)
	}
	found.node = &nodes.Items[0]
	var err error
	if found.pools, err = list[v1.NodePool](ctx, l.reader, &v1.NodePoolList{}); apierrors.IsNotFound(err) {
		found.installed = false
	} else if err != nil {
		return nil, l.explain("NodePools", err)
	}
	return found, nil
}

// noNode says that there is no such node, and which was meant perhaps.
func (l *liveCluster) noNode(ctx context.Context, name string) error {
	err := fmt.Errorf("there is no node %q", name)
	names, _ := objectNames(ctx, l.config, nodesPath) // they are only to help
	near := nearNodes(name, names)
	if len(near) == 0 {
		return hinted{err, "'kubectl get nodes' lists those that there are"}
	}
	return hinted{err, "did you mean " + strings.Join(near, ", ") + "?"}
}

// maxNear is how many names are proposed.
const maxNear = 3

// nearNodes are names that hold the given one, or that differ from it by a slip
// or two.
func nearNodes(name string, known []string) []string {
	var near []string
	family := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, candidate := range known {
		if strings.Contains(candidate, name) {
			near = append(near, candidate)
			continue
		}
		family.AddCommand(&cobra.Command{Use: candidate, Run: func(*cobra.Command, []string) {}})
	}
	near = append(near, family.SuggestionsFor(name)...)
	return near[:min(len(near), maxNear)]
}
