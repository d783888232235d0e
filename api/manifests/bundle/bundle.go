// Package bundle makes a bundle for the Operator Lifecycle Manager, in its format
// registry+v1, of the objects that nodepools install prints. Start with [Files].
package bundle

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/api/manifests"
)

// version is what the bundle takes for one: a semantic version with a v before it, as the
// releases have it.
var version = regexp.MustCompile(`^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z]+(\.[0-9A-Za-z]+)*)?$`)

// First is the file with what a bundle cannot carry: the administrator applies it before
// the bundle is installed.
const First = "apply-first.yaml"

const serviceVersionFile = "manifests/nodepools.clusterserviceversion.yaml"

// Options say what bundle is made.
type Options struct {
	// Version is as v1.2.3.
	Version string
	// Image is that of the controller, with a tag or a digest.
	Image string
	// Rollout has the controller get the rights to drain nodes.
	Rollout bool
}

// Files returns the files of a bundle, by their path in it, and First.
func Files(o Options) (map[string][]byte, error) {
	if !version.MatchString(o.Version) {
		return nil, fmt.Errorf("version %q is not a semantic version, such as v1.2.3", o.Version)
	}
	options := manifests.Options{Namespace: manifests.DefaultNamespace, Image: o.Image, Rollout: o.Rollout}
	if err := options.Validate(); err != nil {
		return nil, err
	}
	objects, err := manifests.All(options)
	if err != nil {
		return nil, err
	}
	service, err := serviceVersion(o.Version, o.Image, objects)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	if files[serviceVersionFile], err = yaml.Marshal(service); err != nil {
		return nil, err
	}
	if files["metadata/annotations.yaml"], err = yaml.Marshal(map[string]any{"annotations": annotations}); err != nil {
		return nil, err
	}
	for _, object := range objects {
		switch placeOf(object) {
		case inBundle:
			object.SetNamespace("") // that of the subscription
			kind := object.GetObjectKind().GroupVersionKind().Kind
			path := fmt.Sprintf("manifests/%s.%s.yaml", object.GetName(), strings.ToLower(kind))
			if files[path], err = document(object); err != nil {
				return nil, err
			}
		case first:
			document, err := document(object)
			if err != nil {
				return nil, err
			}
			files[First] = slices.Concat(files[First], []byte("---\n"), document)
		case inServiceVersion:
		}
	}
	return files, nil
}

// document writes an object without its status, which is the cluster's to say.
func document(object manifests.Object) ([]byte, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", object.GetName(), err)
	}
	delete(fields, "status")
	return yaml.Marshal(fields)
}

// annotations say what the bundle is, and which channel it is in.
var annotations = map[string]string{
	"operators.operatorframework.io.bundle.mediatype.v1":       "registry+v1",
	"operators.operatorframework.io.bundle.manifests.v1":       "manifests/",
	"operators.operatorframework.io.bundle.metadata.v1":        "metadata/",
	"operators.operatorframework.io.bundle.package.v1":         manifests.Name,
	"operators.operatorframework.io.bundle.channels.v1":        "stable",
	"operators.operatorframework.io.bundle.channel.default.v1": "stable",
}

// place is where an object of the installation goes.
type place int

const (
	// inServiceVersion: the ClusterServiceVersion has it, and OLM makes the object.
	inServiceVersion place = iota
	// inBundle: it is a file of its own.
	inBundle
	// first: OLM takes no such object.
	first
)

// placeOf says where an object goes. Roles and bindings of the controller are made by OLM,
// of the permissions of its ServiceAccount; the role that is bound by the administrator is
// an object.
func placeOf(object manifests.Object) place {
	switch object.(type) {
	case *appsv1.Deployment, *corev1.ServiceAccount, *rbacv1.Role, *rbacv1.RoleBinding, *rbacv1.ClusterRoleBinding:
		return inServiceVersion
	case *rbacv1.ClusterRole:
		if object.GetName() == manifests.MetricsReaderName {
			return inBundle
		}
		return inServiceVersion
	}
	switch object.GetObjectKind().GroupVersionKind().Kind {
	case "CustomResourceDefinition", "Service":
		return inBundle
	}
	return first
}
