package observe

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/hint"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// ReadyNode is a node, and whether its condition Ready is true.
type ReadyNode struct {
	*plan.NodeState
	Ready bool
}

// Progress is what says how far nodes are in following their pools.
type Progress struct {
	Sources []*v1.NodePoolSource
	Pools   []*v1.NodePool
	Nodes   []ReadyNode
	// NodesUnread is why this user may not list nodes; nil where they were listed.
	NodesUnread error
	// SourcesUnread is why this user may not list sources; nil where they were listed.
	SourcesUnread error
	// Waiting are the pods that have no node, and Classes the RuntimeClasses. They are read
	// where nodes are; PodsUnread is why this user may not list them.
	Waiting    []plan.WaitingPod
	Classes    []*nodev1.RuntimeClass
	PodsUnread error
}

// NoPoolError says that there is no pool of a name.
type NoPoolError struct {
	Name string
	// Near are names that may have been meant, a few at the most.
	Near []string
}

func (e *NoPoolError) Error() string { return fmt.Sprintf("there is no pool %q", e.Name) }

// Progress reads sources, pools and nodes. A user who may not list sources or nodes does
// without.
func (s *Server) Progress(ctx context.Context) (*Progress, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	pools, err := list[v1.NodePool](ctx, s.reader, &v1.NodePoolList{})
	switch {
	case apierrors.IsForbidden(err):
		return nil, hint.Add(s.explain("NodePools", err), "the user needs the right to list nodepools, and that to list nodes for waves")
	case apierrors.IsNotFound(err):
		return nil, hint.Add(fmt.Errorf("%s does not know NodePools: %w", s.Name(), s.explain("NodePools", err)), "'nodepools install' prints what an administrator applies")
	case err != nil:
		return nil, s.explain("NodePools", err)
	}
	progress := &Progress{Pools: pools}
	progress.Sources, err = list[v1.NodePoolSource](ctx, s.reader, &v1.NodePoolSourceList{})
	switch {
	case apierrors.IsForbidden(err):
		progress.SourcesUnread = err
	case err != nil && !apierrors.IsNotFound(err):
		return nil, s.explain("NodePoolSources", err)
	}
	nodes, err := list[corev1.Node](ctx, s.reader, &corev1.NodeList{})
	if apierrors.IsForbidden(err) {
		progress.NodesUnread = err
		return progress, nil
	}
	if err != nil {
		return nil, s.explain("nodes", err)
	}
	progress.Nodes = make([]ReadyNode, len(nodes))
	for i, node := range nodes {
		progress.Nodes[i] = ReadyNode{NodeState: plan.StateOf(node), Ready: slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})}
	}
	return progress, s.waiting(ctx, progress)
}

// waiting reads the pods that have no node.
func (s *Server) waiting(ctx context.Context, progress *Progress) error {
	classes, err := list[nodev1.RuntimeClass](ctx, s.reader, &nodev1.RuntimeClassList{})
	if apierrors.IsForbidden(err) {
		progress.PodsUnread = err
		return nil
	}
	if err != nil {
		return s.explain("RuntimeClasses", err)
	}
	progress.Classes = classes
	options := client.ListOptions{Limit: PageSize, FieldSelector: fields.OneTermEqualSelector("spec.nodeName", "")}
	for {
		pods := &corev1.PodList{}
		if err := s.reader.List(ctx, pods, &options); apierrors.IsForbidden(err) {
			progress.PodsUnread = err
			return nil
		} else if err != nil {
			return s.explain("pods", err)
		}
		for i := range pods.Items {
			if pod, waits := plan.WaitingPodOf(&pods.Items[i]); waits {
				progress.Waiting = append(progress.Waiting, pod)
			}
		}
		if options.Continue = pods.Continue; options.Continue == "" {
			return nil
		}
	}
}

// NoPool is the error that there is no pool of a name, with names that may have been meant.
func (p *Progress) NoPool(name string) *NoPoolError {
	known := make([]string, len(p.Pools))
	for i, pool := range p.Pools {
		known[i] = pool.Name
	}
	return &NoPoolError{Name: name, Near: near(name, known)}
}
