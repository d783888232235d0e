// Package manifests builds the Kubernetes objects that an administrator applies to
// install nodepools: custom resource definitions, namespace, roles, admission
// policies and Deployment. Start with [All].
//
// Everything is a pure function of [Options], and returns new objects that the
// caller may change. What prints or packages them needs no cluster.
package manifests

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nodepools/nodepools/api/crds"
)

const (
	// Name is the name of every object of the controller, but for its namespace and
	// the policy for statuses.
	Name = "nodepools"

	// DefaultNamespace is the namespace of the controller unless Options say otherwise.
	DefaultNamespace = "nodepools-system"

	// DefaultRepository is where the images of releases are published. A tag or a
	// digest makes an image of it.
	DefaultRepository = "ghcr.io/nodepools/nodepools"

	// OldestKubernetes is the earliest version that takes all objects: the admission
	// policies are of a kind that it has brought.
	OldestKubernetes = "1.30.0"
)

// Object is a Kubernetes object of a Go type, with apiVersion and kind set.
type Object interface {
	metav1.Object
	runtime.Object
}

// Options are what differs between installations.
type Options struct {
	// Namespace of the controller. It is part of the installation, unless ExistingNamespace.
	Namespace string

	// ExistingNamespace leaves the namespace itself out: others made it, or use it, too.
	ExistingNamespace bool

	// Image of the controller, with a tag or a digest.
	Image string

	// Webhook has the controller receive webhooks, and adds the Service for them.
	Webhook bool

	// Rollout lets the controller list and evict pods, for pools whose rollout has nodes
	// drained.
	Rollout bool

	// Metrics says how the controller serves metrics, and adds what that takes; empty is
	// SecureMetrics.
	Metrics MetricsServing
}

// imageName is a name, with a registry before it or not, and a tag or a digest
// or both behind it. It is large, and compiled when it is used: a controller never does.
var imageName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-zA-Z0-9.-]+(:[0-9]+)?/)?[a-z0-9]+([._/-]+[a-z0-9]+)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)
})

// Validate refuses values that no cluster would take. The error begins with the
// option, in lower case.
func (o Options) Validate() error {
	if problems := validation.IsDNS1123Label(o.Namespace); len(problems) > 0 {
		// The regular expression at the end of the message is for programs.
		problem, _, _ := strings.Cut(problems[0], " (e.g.")
		return fmt.Errorf("namespace %q is not valid: %s", o.Namespace, problem)
	}
	if !imageName().MatchString(o.Image) {
		return fmt.Errorf("image %q is not the name of an image, such as registry.example.com/nodepools:v1", o.Image)
	}
	if o.Metrics != "" && !slices.Contains(MetricsServings(), o.Metrics) {
		return fmt.Errorf("metrics %q is not known: must be secure, plain or none", o.Metrics)
	}
	return nil
}

// All returns a whole installation of the controller, in the order in which it is
// applied. It takes the options as they are; see [Options.Validate].
func All(o Options) ([]Object, error) {
	definitions, err := CRDs()
	if err != nil {
		return nil, err
	}
	namespace := Namespace(o.Namespace)
	if o.ExistingNamespace {
		namespace = slices.DeleteFunc(namespace, isNamespace)
	}
	var webhook, rollout []Object
	if o.Webhook {
		webhook = Webhook(o.Namespace)
	}
	if o.Rollout {
		rollout = Rollout(o.Namespace)
	}
	return slices.Concat(
		definitions,
		namespace,
		RBAC(o.Namespace),
		rollout,
		// After the role that lets the controller pass.
		NodePolicy(),
		StatusPolicy(),
		webhook,
		Metrics(o.Namespace, o.Metrics),
		[]Object{Deployment(o)},
	), nil
}

// CRDs returns the custom resource definitions, in the order of their names.
func CRDs() ([]Object, error) {
	definitions, err := crds.All()
	if err != nil {
		return nil, err
	}
	objects := make([]Object, len(definitions))
	for i, definition := range definitions {
		objects[i] = definition
	}
	return objects, nil
}

// Labels returns the labels of every object but the custom resource definitions.
// Those alone select the pods of the controller.
func Labels() map[string]string { return map[string]string{"app.kubernetes.io/name": Name} }

// metaOf returns the metadata of an object; namespace is empty for one of the cluster.
func metaOf(name, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: Labels()}
}

func kind(version schema.GroupVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version.String(), Kind: kind}
}
