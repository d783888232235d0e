package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// Node is one node, and the pools around it.
type Node struct {
	Node  *plan.NodeState
	Pools []*v1.NodePool
	// Installed is false where the cluster does not know the kind NodePool.
	Installed bool
}

// NoNodeError says that there is no node of a name.
type NoNodeError struct {
	Name string
	// Near are names that may have been meant, a few at the most.
	Near []string
}

func (e *NoNodeError) Error() string { return fmt.Sprintf("there is no node %q", e.Name) }

// Node reads a node and all pools. The node is listed by its name, so that a role
// which can list is enough here too. Where there is none, the error is a
// [*NoNodeError].
func (s *Server) Node(ctx context.Context, name string) (*Node, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	found := &Node{Installed: true}
	var nodes corev1.NodeList
	if err := s.reader.List(ctx, &nodes, client.MatchingFields{"metadata.name": name}); err != nil {
		return nil, s.explain("nodes", err)
	}
	if len(nodes.Items) == 0 {
		known, _ := Names(ctx, s.config, NodesPath) // they are only to help
		return nil, &NoNodeError{Name: name, Near: near(name, known)}
	}
	found.Node = plan.StateOf(&nodes.Items[0])
	var err error
	if found.Pools, err = list[v1.NodePool](ctx, s.reader, &v1.NodePoolList{}); apierrors.IsNotFound(err) {
		found.Installed = false
	} else if err != nil {
		return nil, s.explain("NodePools", err)
	}
	return found, nil
}

// maxNear is how many names are proposed.
const maxNear = 3

// near are names that hold the given one, and then the one that is like it but for a
// typo or two.
func near(name string, known []string) []string {
	var names []string
	for _, candidate := range known {
		if strings.Contains(candidate, name) {
			names = append(names, candidate)
		}
	}
	if like := render.Nearest(name, known); like != "" && !slices.Contains(names, like) {
		names = append(names, like)
	}
	return names[:min(len(names), maxNear)]
}
