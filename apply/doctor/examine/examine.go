// Package examine reads from an API server what package doctor judges. Start with [Read].
//
// It writes nothing: whether the controller has its rights is asked by reviews, which
// are not stored.
package examine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/connect"
	"github.com/nodepools/nodepools/apply/doctor"
	"github.com/nodepools/nodepools/apply/observe"
)

// Read reads all that there is to judge. The error is one of an API server that cannot
// be asked at all; what this user may not read stands in the state.
func Read(ctx context.Context, server *observe.Server, namespace string, timeout time.Duration) (*doctor.State, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r := &reader{server: server, namespace: namespace, timeout: timeout, state: &doctor.State{
		Server: server.Name(), Namespace: namespace, Unread: map[doctor.Check]error{},
		Definitions: map[string]*apiextensionsv1.CustomResourceDefinition{},
		Policies:    map[string]*admissionv1.ValidatingAdmissionPolicy{},
		Bindings:    map[string]*admissionv1.ValidatingAdmissionPolicyBinding{},
	}}
	if err := r.version(ctx); err != nil {
		return nil, err
	}
	var err error
	if r.client, err = newClient(server); err != nil {
		return nil, err
	}
	for _, read := range []func(context.Context) error{r.definitions, r.policies, r.controller, r.rights, r.objects} {
		if err := read(ctx); err != nil {
			return nil, err
		}
	}
	return r.state, nil
}

type reader struct {
	server    *observe.Server
	client    client.Client
	namespace string
	timeout   time.Duration
	state     *doctor.State
	// clock is how far the clock of the API server is ahead of that of this machine.
	clock time.Duration
}

// version is asked for first, as everybody may: so it is known whether the API server
// answers at all.
func (r *reader) version(ctx context.Context) error {
	config := rest.CopyConfig(r.server.Config())
	config.Wrap(r.observeClock)
	asking, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	var answer struct {
		GitVersion string `json:"gitVersion"`
	}
	raw, err := asking.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return connect.Explain(err, r.server.Name(), r.timeout)
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("the version of %s: %w", r.server.Name(), err)
	}
	r.state.Kubernetes = answer.GitVersion
	r.neighbours(ctx, asking)
	return nil
}

// neighbours finds resources of other groups that kubectl can take for ours. A group that
// does not answer is left out, as kubectl leaves it out.
func (r *reader) neighbours(ctx context.Context, asking *discovery.DiscoveryClient) {
	_, served, _ := asking.ServerGroupsAndResourcesWithContext(ctx)
	found := map[string]bool{}
	for _, list := range served {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || group.Group == v1.GroupVersion.Group {
			continue
		}
		for _, resource := range list.APIResources {
			switch resource.Name {
			case "nodepools", "nodepoolsources":
				found[resource.Name+"."+group.Group] = true
			}
		}
	}
	r.state.Neighbours = slices.Sorted(maps.Keys(found))
}

// get reads one object. Where there is none, it reports false; where it may not be read,
// the check is one that could not be made.
func (r *reader) get(ctx context.Context, check doctor.Check, what string, key client.ObjectKey, object client.Object) (bool, error) {
	err := r.client.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, r.unless(check, what, err)
}

// unless keeps an error of one check, and returns one by which nothing else can be read.
func (r *reader) unless(check doctor.Check, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		r.state.Unread[check] = hint.Add(fmt.Errorf("this user may not %s", what), "ask as a cluster administrator, or with another --context")
		return nil
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		r.state.Unread[check] = fmt.Errorf("the cluster does not serve them")
		return nil
	}
	return connect.Explain(fmt.Errorf("%s: %w", what, err), r.server.Name(), r.timeout)
}

func (r *reader) definitions(ctx context.Context) error {
	own, err := manifests.CRDs()
	if err != nil {
		return err
	}
	for _, definition := range own {
		live := &apiextensionsv1.CustomResourceDefinition{}
		found, err := r.get(ctx, doctor.Definitions, "get customresourcedefinitions", client.ObjectKeyFromObject(definition.(client.Object)), live)
		if err != nil {
			return err
		}
		if found {
			r.state.Definitions[live.Name] = live
		}
	}
	return nil
}

func (r *reader) policies(ctx context.Context) error {
	for _, name := range []string{manifests.Name, manifests.StatusPolicyName} {
		key := client.ObjectKey{Name: name}
		policy, binding := &admissionv1.ValidatingAdmissionPolicy{}, &admissionv1.ValidatingAdmissionPolicyBinding{}
		found, err := r.get(ctx, doctor.Policies, "get validatingadmissionpolicies", key, policy)
		if err != nil {
			return err
		}
		if found {
			r.state.Policies[name] = policy
		}
		if found, err = r.get(ctx, doctor.Policies, "get validatingadmissionpolicybindings", key, binding); err != nil {
			return err
		}
		if found {
			r.state.Bindings[name] = binding
		}
	}
	return nil
}

// controller reads what runs it, the Service of its metrics, and the lease by which it works.
func (r *reader) controller(ctx context.Context) error {
	deployment, account := &appsv1.Deployment{}, &corev1.ServiceAccount{}
	found, err := r.get(ctx, doctor.Controller, "get deployments", client.ObjectKey{Namespace: r.namespace, Name: manifests.Name}, deployment)
	if err != nil {
		return err
	}
	if found {
		r.state.Deployment = deployment
	}
	service := &corev1.Service{}
	if found, err = r.get(ctx, doctor.Metrics, "get services", client.ObjectKey{Namespace: r.namespace, Name: manifests.MetricsName}, service); err != nil {
		return err
	}
	if found {
		r.state.MetricsService = service
	}
	if unread := r.state.Unread[doctor.Controller]; unread != nil {
		r.state.Unread[doctor.Metrics] = unread
	}
	if err := r.leases(ctx); err != nil {
		return err
	}
	if found, err = r.get(ctx, doctor.Rights, "get serviceaccounts", client.ObjectKey{Namespace: r.namespace, Name: doctor.AccountName(r.state.Deployment)}, account); err != nil {
		return err
	}
	if found {
		r.state.Account = account
	}
	return nil
}

// objects lists sources, pools and nodes.
func (r *reader) objects(ctx context.Context) error {
	sources, pools := &v1.NodePoolSourceList{}, &v1.NodePoolList{}
	if err := r.unless(doctor.Sources, "list nodepoolsources", r.client.List(ctx, sources)); err != nil {
		return err
	}
	if err := r.unless(doctor.Pools, "list nodepools", r.client.List(ctx, pools)); err != nil {
		return err
	}
	for i := range sources.Items {
		r.state.Sources = append(r.state.Sources, &sources.Items[i])
	}
	for i := range pools.Items {
		r.state.Pools = append(r.state.Pools, &pools.Items[i])
	}
	var err error
	r.state.Nodes, r.state.Handlers, err = r.server.Nodes(ctx)
	return r.unless(doctor.Nodes, "list nodes", err)
}

// newClient makes a client that asks for nothing but what is read.
func newClient(server *observe.Server) (client.Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		v1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, coordinationv1.AddToScheme,
		admissionv1.AddToScheme, authorizationv1.AddToScheme, apiextensionsv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("scheme: %w", err)
		}
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(v1.GroupVersion.WithKind(v1.NodePoolKind), meta.RESTScopeRoot)
	mapper.Add(v1.GroupVersion.WithKind(v1.NodePoolSourceKind), meta.RESTScopeRoot)
	mapper.Add(admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy"), meta.RESTScopeRoot)
	mapper.Add(admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicyBinding"), meta.RESTScopeRoot)
	mapper.Add(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), meta.RESTScopeRoot)
	mapper.Add(authorizationv1.SchemeGroupVersion.WithKind("SubjectAccessReview"), meta.RESTScopeRoot)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	mapper.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Service"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ServiceAccount"), meta.RESTScopeNamespace)
	found, err := client.New(server.Config(), client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return found, nil
}
