package uninstall

import (
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Installation is what is known of how the controller came into a cluster.
type Installation struct {
	// Namespace of the controller, if Helm does not know better.
	Namespace string
	// Definitions reports whether the cluster knows the kind NodePool.
	Definitions bool
	// Helm is the release that the controller belongs to; nil where it belongs to none.
	Helm *Release
}

// Release is one of Helm.
type Release struct {
	// Name is empty where the objects of the release do not say it.
	Name, Namespace string
}

// ReleaseOf returns the release that an object belongs to, by the labels and annotations
// that Helm sets; nil where it belongs to none. What is not the name of a release or of a
// namespace is left out: names become part of a command.
func ReleaseOf(labels, annotations map[string]string) *Release {
	if labels["app.kubernetes.io/managed-by"] != "Helm" {
		return nil
	}
	name, namespace := annotations["meta.helm.sh/release-name"], annotations["meta.helm.sh/release-namespace"]
	if len(validation.IsDNS1123Subdomain(name)) > 0 || len(validation.IsDNS1123Label(namespace)) > 0 {
		return &Release{}
	}
	return &Release{name, namespace}
}

const (
	deleteAll = " | kubectl delete --ignore-not-found -f -"

	// notBefore is part of each step that takes the controller or the definitions away.
	notBefore = "; not before no pool is left: it is the controller that cleans nodes, and without it they keep the taints and labels of pools"
)

// remove returns the steps that come last. None deletes the namespace: it may have been
// there before, and who prints the steps need not have the right to see what others have
// in it.
func (in Installation) remove() []Step {
	namespace := in.Namespace
	if in.Helm != nil && in.Helm.Name != "" {
		namespace = in.Helm.Namespace
	}
	viewer := Step{"remove the viewer, if there is one", "nodepools install --viewer --namespace " + namespace + deleteAll}
	var steps []Step
	switch {
	case in.Helm == nil:
		// With all options, as what belongs to those that were not used is not found.
		steps = []Step{viewer, {"remove the controller and the definitions" + notBefore,
			"nodepools install --rollout --webhook --create-namespace=false --namespace " + namespace + deleteAll}}
	case in.Helm.Name == "":
		steps = []Step{{"uninstall the release of Helm that the controller belongs to, which 'helm list --all-namespaces' names" + notBefore, ""}, viewer}
	default:
		// The viewer may be part of the release.
		steps = []Step{{"uninstall the release of Helm that the controller belongs to" + notBefore,
			"helm uninstall " + in.Helm.Name + " --namespace " + namespace}, viewer}
	}
	if in.Helm != nil {
		steps = append(steps, Step{"remove the definitions, which Helm leaves; with them go all pools", "nodepools install --crds-only" + deleteAll})
	}
	return append(steps,
		Step{"remove the lease, which the controller has made itself", "kubectl delete lease " + v1.LeaseName + " --namespace " + namespace + " --ignore-not-found"},
		Step{"see what is left in the namespace " + namespace + ", which stays, as others may use it: it is theirs, or Secrets of sources, beside what Kubernetes puts into each. " +
			"Only if none of it is needed, delete it by hand: kubectl delete namespace " + namespace,
			`kubectl get "$(kubectl api-resources --namespaced --verbs=list -o name | paste -sd, -)" --namespace ` + namespace + " --ignore-not-found -o name"})
}
