package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/guard"
)

// followed are the kinds that the caches hold.
var followed = map[schema.GroupVersionResource]client.Object{
	v1.GroupVersion.WithResource("nodepools"):                &v1.NodePool{},
	v1.GroupVersion.WithResource("nodepoolsources"):          &v1.NodePoolSource{},
	corev1.SchemeGroupVersion.WithResource("nodes"):          &corev1.Node{},
	nodev1.SchemeGroupVersion.WithResource("runtimeclasses"): &nodev1.RuntimeClass{},
}

// witnesses ask for the first object of each kind that the caches hold. A list that
// names no version has the version of the store, whichever API server answers.
func witnesses(config *rest.Config) ([]guard.Witness, error) {
	config = rest.CopyConfig(config)
	config.Timeout = 5 * time.Second
	api, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	var all []guard.Witness
	for resource := range followed {
		all = append(all, guard.Witness{Resource: resource.GroupResource().String(), Ask: func(ctx context.Context) (string, error) {
			list, err := api.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
			if apierrors.IsNotFound(err) {
				return "", nil // the definition of the kind was deleted
			}
			if err != nil {
				return "", err
			}
			return list.ResourceVersion, nil
		}})
	}
	return all, nil
}

// following tells a guard what the caches have seen, from when they are filled.
type following struct {
	guard  *guard.Guard
	caches cache.Cache
}

// NeedLeaderElection has it run also while another instance works: what is in
// memory has to be right when this one takes over.
func (f following) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (f following) Start(ctx context.Context) error {
	seen := map[string]func() string{}
	for resource, kind := range followed {
		informer, err := f.caches.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("follow %s: %w", resource.Resource, err)
		}
		versioned, ok := informer.(interface{ LastSyncResourceVersion() string })
		if !ok {
			return fmt.Errorf("follow %s: the cache does not know its version", resource.Resource)
		}
		seen[resource.GroupResource().String()] = versioned.LastSyncResourceVersion
	}
	f.guard.Follow(ctx, func(resource string) string { return seen[resource]() })
	return nil
}
