package manifests

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// StatusPolicyName is the name of the policy and of its binding.
const StatusPolicyName = Name + "-status"

// StatusVerb is what the right to write a status is called, on the subresource. A
// role that allows every verb of the API on every resource of the group, as many do
// that are meant for the authors of pools, does not give it.
const StatusVerb = "write"

// StatusPolicy returns an admission policy, and its binding, by which only who has that
// right writes the status of pools and sources. The controller goes by what it says:
// what others have set on a RuntimeClass that was replaced, which members and which
// prune somebody has approved.
func StatusPolicy() []Object {
	return []Object{
		&admissionv1.ValidatingAdmissionPolicy{
			TypeMeta: kind(admissionv1.SchemeGroupVersion, "ValidatingAdmissionPolicy"), ObjectMeta: metaOf(StatusPolicyName, ""),
			Spec: admissionv1.ValidatingAdmissionPolicySpec{
				FailurePolicy:    ptr.To(admissionv1.Fail),
				MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{statusWrites()}},
				Validations: []admissionv1.Validation{{
					Expression: fmt.Sprintf("authorizer.group('%s').resource(request.resource.resource).subresource('status').check('%s').allowed()", v1.GroupVersion.Group, StatusVerb),
					Reason:     ptr.To(metav1.StatusReasonForbidden),
					Message: fmt.Sprintf("only the controller, cluster administrators and others with the right to %s nodepools/status and nodepoolsources/status of %s may write the status of pools and sources, as the controller goes by it",
						StatusVerb, v1.GroupVersion.Group),
				}},
			},
		},
		&admissionv1.ValidatingAdmissionPolicyBinding{
			TypeMeta: kind(admissionv1.SchemeGroupVersion, "ValidatingAdmissionPolicyBinding"), ObjectMeta: metaOf(StatusPolicyName, ""),
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName:        StatusPolicyName,
				ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			},
		},
	}
}

// statusWrites are the requests that write a status: no object is created with one.
func statusWrites() admissionv1.NamedRuleWithOperations {
	return admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Update},
		Rule: admissionv1.Rule{
			APIGroups: []string{v1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"nodepools/status", "nodepoolsources/status"},
			// The default, written down so that applying it again changes nothing.
			Scope: ptr.To(admissionv1.AllScopes),
		},
	}}
}
