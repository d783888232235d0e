package session

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
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

// firstMetadata asks for the metadata of objects.
const firstMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

// witnesses ask for the first object of each kind that the caches hold. A list that
// names no version has the version of the store, whichever API server answers. A
// question is not repeated: how often to ask is the guard's to say.
func witnesses(config *rest.Config) ([]guard.Witness, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.NegotiatedSerializer = &schema.GroupVersion{}, scheme.Codecs.WithoutConversion()
	api, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	var all []guard.Witness
	for resource := range followed {
		all = append(all, guard.Witness{Resource: resource.GroupResource().String(), Version: func(ctx context.Context) (string, error) {
			answer, err := api.Get().AbsPath(pathOf(resource)).Param("limit", "1").
				SetHeader("Accept", firstMetadata).MaxRetries(0).DoRaw(ctx)
			if apierrors.IsNotFound(err) {
				return "", nil // the definition of the kind was deleted
			}
			if err != nil {
				return "", err
			}
			var list metav1.PartialObjectMetadataList
			if err := json.Unmarshal(answer, &list); err != nil {
				return "", fmt.Errorf("list %s: %w", resource.Resource, err)
			}
			return list.ResourceVersion, nil
		}})
	}
	return all, nil
}

func pathOf(resource schema.GroupVersionResource) string {
	if resource.Group == "" {
		return path.Join("/api", resource.Version, resource.Resource)
	}
	return path.Join("/apis", resource.Group, resource.Version, resource.Resource)
}

// following reports to a guard what the caches have seen, from when they are filled.
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
		informer := f.informer(ctx, kind)
		if informer == nil {
			return nil
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

// informer returns the informer of a kind; nil when the context ends before there is
// one. Why there is none yet is logged by the reconcilers, which ask for it too.
func (f following) informer(ctx context.Context, kind client.Object) cache.Informer {
	for ctx.Err() == nil {
		if informer, err := f.caches.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err == nil {
			return informer
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return nil
}
