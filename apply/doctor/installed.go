package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/nodepools/nodepools/api/command"
	"github.com/nodepools/nodepools/api/crds"
	"github.com/nodepools/nodepools/api/manifests"
)

// reinstall has everything as this program prints it.
const reinstall = "apply what 'nodepools install' of the controller's version prints, or upgrade the Helm chart"

// definitions are to be there, served, and those that this program brings.
func definitions(s *State) []Finding {
	own, err := crds.All()
	if err != nil {
		return []Finding{{Severity: Problem, Message: err.Error()}}
	}
	var found []Finding
	for _, want := range own {
		object := "crd/" + want.Name
		got := s.Definitions[want.Name]
		switch {
		case got == nil:
			found = append(found, Finding{Severity: Problem, Object: object, Message: "is not installed", Action: "nodepools install --crds-only | kubectl apply --server-side -f -"})
		case got.DeletionTimestamp != nil:
			found = append(found, Finding{Severity: Problem, Object: object, Message: "is being deleted, and every object of its kind with it",
				Action: "see what it waits for with " + command.Describe(object) + "; then install it anew, and create again what is missing"})
		case !established(got):
			found = append(found, Finding{Severity: Problem, Object: object, Message: "is not served by the API server", Action: command.Describe(object)})
		case !equality.Semantic.DeepEqual(got.Spec.Versions, want.Spec.Versions):
			found = append(found, Finding{Severity: Problem, Object: object,
				Message: "is of another version than this program, which is " + s.Version,
				Action:  "if the controller is of this version: nodepools install --crds-only | kubectl apply --server-side -f -; else run doctor of the controller's version"})
		}
	}
	for _, resource := range s.Neighbours {
		found = append(found, Finding{Severity: Note, Object: resource, Message: "has the same plural: kubectl takes nodepools, without a group, for these or for ours, whichever it finds first",
			Action: "name ours " + command.Pools + " and " + command.Sources + " in every command and script"})
	}
	return found
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// policies are to be there, bound, to deny, and to say what this program has them say.
func policies(s *State) []Finding {
	var found []Finding
	for _, object := range slices.Concat(manifests.NodePolicy(), manifests.StatusPolicy()) {
		switch want := object.(type) {
		case *admissionv1.ValidatingAdmissionPolicy:
			name := "validatingadmissionpolicy/" + want.Name
			if got := s.Policies[want.Name]; got == nil {
				found = append(found, Finding{Severity: Problem, Object: name, Message: "is missing: " + unprotected(want.Name), Action: reinstall})
			} else if !samePolicy(got, want) {
				found = append(found, Finding{Severity: Problem, Object: name, Message: "is not that of this program, which is " + s.Version, Action: reinstall})
			}
		case *admissionv1.ValidatingAdmissionPolicyBinding:
			name := "validatingadmissionpolicybinding/" + want.Name
			got := s.Bindings[want.Name]
			switch {
			case got == nil:
				found = append(found, Finding{Severity: Problem, Object: name, Message: "is missing, so the policy is not in force: " + unprotected(want.Name), Action: reinstall})
			case !equality.Semantic.DeepEqual(got.Spec, want.Spec):
				found = append(found, Finding{Severity: Problem, Object: name, Message: "does not deny what the policy forbids, or not everywhere: " + unprotected(want.Name), Action: reinstall})
			}
		}
	}
	return found
}

// samePolicy compares what decides, without what the API server fills in.
func samePolicy(got, want *admissionv1.ValidatingAdmissionPolicy) bool {
	return equality.Semantic.DeepEqual(matched(got), matched(want)) &&
		equality.Semantic.DeepEqual(got.Spec.ParamKind, want.Spec.ParamKind) &&
		equality.Semantic.DeepEqual(got.Spec.FailurePolicy, want.Spec.FailurePolicy) &&
		equality.Semantic.DeepEqual(got.Spec.MatchConditions, want.Spec.MatchConditions) &&
		equality.Semantic.DeepEqual(got.Spec.Variables, want.Spec.Variables) &&
		equality.Semantic.DeepEqual(got.Spec.Validations, want.Spec.Validations)
}

// matched are the requests that a policy is for, all of it: a selector or an exception
// would take as much away as a rule that is missing.
func matched(p *admissionv1.ValidatingAdmissionPolicy) *admissionv1.MatchResources {
	match := p.Spec.MatchConstraints.DeepCopy()
	if match == nil {
		return nil
	}
	// The API server fills in what is left out.
	if match.NamespaceSelector == nil {
		match.NamespaceSelector = &metav1.LabelSelector{}
	}
	if match.ObjectSelector == nil {
		match.ObjectSelector = &metav1.LabelSelector{}
	}
	if match.MatchPolicy == nil {
		equivalent := admissionv1.Equivalent
		match.MatchPolicy = &equivalent
	}
	return match
}

// unprotected says what anybody may write without a policy.
func unprotected(policy string) string {
	if policy == manifests.StatusPolicyName {
		return "whoever may write the status of pools or sources can forge approvals"
	}
	return "a kubelet can write the record of its node"
}

// minimum is the earliest version of Kubernetes.
var minimum = version.MustParseGeneric(manifests.OldestKubernetes)

// versions are to fit together.
func versions(s *State) []Finding {
	var found []Finding
	if server, err := version.ParseGeneric(s.Kubernetes); err == nil && server.LessThan(minimum) {
		found = append(found, Finding{Severity: Problem, Message: fmt.Sprintf("Kubernetes is %s, and %s is required for the admission policies", s.Kubernetes, minimum), Action: "upgrade the cluster"})
	}
	if s.Deployment == nil || s.Tag == "" {
		return found
	}
	for _, c := range s.Deployment.Spec.Template.Spec.Containers {
		if tag := tagOf(c.Image); c.Name == manifests.Name && tag != "" && tag != s.Tag {
			found = append(found, Finding{Severity: Note, Object: "deployment/" + manifests.Name,
				Message: fmt.Sprintf("runs %s, and this program is %s: what differs between the two may be reported as wrong", tag, s.Version)})
		}
	}
	return found
}

// tagOf returns the tag in the name of an image; empty where there is none.
func tagOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	last := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(last, ":")
	return tag
}

// sorted returns the keys of a set.
func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
