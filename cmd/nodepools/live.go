package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/apply/plan"
)

// liveCluster reads a cluster. It lists and does nothing else, so that a role
// which can only read is enough.
type liveCluster struct {
	reader client.Reader
	config *rest.Config
	flags  clusterFlags
}

// connect makes a client for the cluster that the flags name. Nothing is sent
// before the first list: even what the API server serves is not asked for.
func connect(flags clusterFlags, agent string) (*liveCluster, error) {
	quietLibraries()
	config, err := flags.config()
	if err != nil {
		return nil, err
	}
	config.UserAgent = agent
	scheme, err := controller.NewScheme()
	if err != nil {
		return nil, err
	}
	if err := addPodKinds(scheme); err != nil {
		return nil, err
	}
	reader, err := client.New(config, client.Options{Scheme: scheme, Mapper: knownKinds()})
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return &liveCluster{reader: reader, config: config, flags: flags}, nil
}

func knownKinds() *meta.DefaultRESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Node"),
		nodev1.SchemeGroupVersion.WithKind("RuntimeClass"),
		v1.GroupVersion.WithKind(v1.NodePoolKind),
		v1.GroupVersion.WithKind(v1.NodePoolSourceKind),
	} {
		mapper.Add(kind, meta.RESTScopeRoot)
	}
	for _, kind := range podKinds {
		mapper.Add(kind.GroupVersionKind, meta.RESTScopeNamespace)
	}
	return mapper
}

// contents are what lives in a cluster, as far as it matters here.
type contents struct {
	plan.Cluster
	sources []*v1.NodePoolSource
	// installed is false where the cluster does not know the kind NodePool.
	installed bool
	world
}

// nodes lists the nodes alone.
func (l *liveCluster) nodes(ctx context.Context) ([]*corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, l.flags.timeout)
	defer cancel()
	nodes, err := list[corev1.Node](ctx, l.reader, &corev1.NodeList{})
	return nodes, l.explain("nodes", err)
}

func (l *liveCluster) explain(what string, err error) error {
	if err == nil {
		return nil
	}
	if apierrors.IsNotFound(err) {
		return oneLine{fmt.Errorf("list %s: %s does not serve them: %w", what, serverName(l.config), err)}
	}
	return unreachable(fmt.Errorf("list %s: %w", what, err), serverName(l.config), l.flags.timeout)
}

// list returns every object of a kind, read page by page.
func list[T any](ctx context.Context, reader client.Reader, empty client.ObjectList) ([]*T, error) {
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		page := empty.DeepCopyObject().(client.ObjectList)
		return page, reader.List(ctx, page, &client.ListOptions{Limit: options.Limit, Continue: options.Continue})
	})
	found, _, err := pages.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var all []*T
	err = meta.EachListItem(found, func(object runtime.Object) error {
		item, fits := object.(any).(*T)
		if !fits {
			return fmt.Errorf("a list holds a %T", object)
		}
		all = append(all, item)
		return nil
	})
	return all, err
}
