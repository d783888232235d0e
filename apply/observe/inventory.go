package observe

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// Inventory is a cluster, and what is to be known of how it was read.
type Inventory struct {
	*inventory.Inventory
	// Installed is false where the cluster does not know the kind NodePool.
	Installed bool
	// Withheld are what the user may not list, such as "pods" and
	// "deployments.apps"; pods are not known then. It is empty where all was read.
	Withheld []string
}

// Inventory lists all that an inventory has, page by page. A right that is
// missing is an error, unless it is one to list pods or what makes them, and these
// are optional.
func (s *Server) Inventory(ctx context.Context, podsOptional bool) (*Inventory, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	taken, builder := &Inventory{Installed: true}, &inventory.Builder{}
	if err := s.collectNodes(ctx, taken, builder); err != nil {
		return nil, err
	}
	for _, kind := range PodKinds() {
		switch err := s.collect(ctx, kind.Resource, kind.List, builder); {
		case podsOptional && apierrors.IsForbidden(err):
			taken.Withheld = append(taken.Withheld, kind.Resource)
		case err != nil:
			return nil, err
		}
	}
	taken.Inventory = builder.Inventory(time.Now().UTC().Format(time.RFC3339))
	if len(taken.Withheld) > 0 {
		// Half of it would say of pods that are in danger that they are not.
		taken.Pods, taken.Waiting, taken.Workloads, taken.Budgets = nil, nil, nil, nil
	}
	return taken, nil
}

// nodesAndPools lists what an inventory has of nodes and pools, and nothing of pods.
func (s *Server) nodesAndPools(ctx context.Context) (*Inventory, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	taken, builder := &Inventory{Installed: true}, &inventory.Builder{}
	if err := s.collectNodes(ctx, taken, builder); err != nil {
		return nil, err
	}
	taken.Inventory = builder.Inventory("")
	return taken, nil
}

// collectNodes adds nodes, pools and their sources, and RuntimeClasses.
func (s *Server) collectNodes(ctx context.Context, taken *Inventory, builder *inventory.Builder) error {
	if err := s.collect(ctx, "NodePools", &v1.NodePoolList{}, builder); apierrors.IsNotFound(err) {
		taken.Installed = false
	} else if err != nil {
		return err
	}
	if taken.Installed {
		if err := s.collect(ctx, "NodePoolSources", &v1.NodePoolSourceList{}, builder); err != nil {
			return err
		}
	}
	if err := s.collect(ctx, "RuntimeClasses", &nodev1.RuntimeClassList{}, builder); err != nil {
		return err
	}
	return s.collect(ctx, "nodes", &corev1.NodeList{}, builder)
}

// collect adds the objects of a kind, and says of an error what it was to list.
func (s *Server) collect(ctx context.Context, what string, empty client.ObjectList, builder *inventory.Builder) error {
	if err := collect(ctx, s.reader, empty, builder); err != nil {
		return s.explain(what, err)
	}
	return nil
}

// Notes say what the reader should know of how the inventory was read.
func (t *Inventory) Notes(server string) []string {
	var notes []string
	if !t.Installed {
		notes = append(notes, server+" does not know NodePools, so all of them are new; see 'nodepools install'")
	}
	if len(t.Withheld) > 0 {
		notes = append(notes, fmt.Sprintf("what happens to pods is not shown: the user may not list %s; see 'nodepools install --viewer'",
			strings.Join(t.Withheld, ", ")))
	}
	return notes
}
