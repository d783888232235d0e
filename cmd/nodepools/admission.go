package main

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// The right to write labels and annotations of our domain on nodes. The resource
// is one of the authorizer alone: nothing is served under its name. Its verb is
// not one of the API's, so that a role which allows those on every resource of
// the group does not give it by accident.
const (
	nodeMetadataResource = "nodemetadata"
	nodeMetadataVerb     = "write"
)

// maxNodeKeys is how many labels, and how many annotations, a node may have for
// the policy to look through them. The API server takes time for a walk over a
// map that grows with the square of its size: 20 ms for this many, half a minute
// for what a node can hold, which would be a way to slow it down for everybody.
const maxNodeKeys = 1000

// nodeMetadataPolicy is an admission policy, and its binding, by which only who
// has that right sets, changes or removes labels and annotations of our domain
// on nodes. The controller takes off a node what the record there says is the
// pools', and leaves alone a node that is paused there; and all of that a
// kubelet may otherwise write on its own node.
//
// Nobody is named. Cluster administrators have every right, so they can repair
// a record, pause a node, and run the controller with their own kubeconfig.
//
// The expressions keep to what Kubernetes 1.30 understands, and cannot fail: an
// error would refuse the request. A write that leaves labels and annotations as
// they are, as most do by which a kubelet reports its status, is let through
// before anything is looked at.
func nodeMetadataPolicy() []any {
	meta := metav1.ObjectMeta{Name: appName, Labels: appLabels()}
	var variables []admissionv1.Variable
	for _, field := range []string{"labels", "annotations"} {
		variables = append(variables, changedKeys(field)...)
	}
	return []any{
		&admissionv1.ValidatingAdmissionPolicy{
			TypeMeta: kind(admissionv1.SchemeGroupVersion, "ValidatingAdmissionPolicy"), ObjectMeta: meta,
			Spec: admissionv1.ValidatingAdmissionPolicySpec{
				FailurePolicy:    ptr.To(admissionv1.Fail),
				MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{nodeWrites()}},
				MatchConditions:  []admissionv1.MatchCondition{metadataChanges()},
				Variables:        variables,
				Validations:      onlyWithTheRight(),
			},
		},
		&admissionv1.ValidatingAdmissionPolicyBinding{
			TypeMeta: kind(admissionv1.SchemeGroupVersion, "ValidatingAdmissionPolicyBinding"), ObjectMeta: meta,
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName:        appName,
				ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			},
		},
	}
}

// nodeWrites are the requests by which a node gets or loses a label or an
// annotation. A write of the status can change both as well.
func nodeWrites() admissionv1.NamedRuleWithOperations {
	return admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
		Rule: admissionv1.Rule{
			APIGroups: []string{""}, APIVersions: []string{"*"}, Resources: []string{"nodes", "nodes/status"},
			// The default, written down so that applying it again changes nothing.
			Scope: ptr.To(admissionv1.AllScopes),
		},
	}}
}

// metadataChanges passes over the most frequent write of all: a kubelet that
// reports its status.
func metadataChanges() admissionv1.MatchCondition {
	return admissionv1.MatchCondition{
		Name: "labels-or-annotations-change",
		Expression: fmt.Sprintf("oldObject == null || (%s) != (%s) || (%s) != (%s)",
			keysOf("object", "labels"), keysOf("oldObject", "labels"), keysOf("object", "annotations"), keysOf("oldObject", "annotations")),
	}
}

func keysOf(object, field string) string {
	return fmt.Sprintf("has(%[1]s.metadata.%[2]s) ? %[1]s.metadata.%[2]s : {}", object, field)
}

// changedKeys finds the keys of our domain in a field of the metadata that are
// added, changed (both are Set) or removed; none where there are too many to look
// through.
func changedKeys(field string) []admissionv1.Variable {
	find := func(in, condition string) string {
		return fmt.Sprintf("variables.%[1]sTooMany ? [] : variables.%[2]s.filter(key, key.startsWith('%[3]s/') && %[4]s)",
			field, in, v1.Domain, condition)
	}
	return []admissionv1.Variable{
		{Name: field, Expression: keysOf("object", field)},
		{Name: field + "Before", Expression: "oldObject == null ? {} : " + keysOf("oldObject", field)},
		{Name: field + "TooMany", Expression: fmt.Sprintf("size(variables.%[1]s) > %[2]d || size(variables.%[1]sBefore) > %[2]d", field, maxNodeKeys)},
		{Name: field + "Set", Expression: find(field, fmt.Sprintf(
			"!(key in variables.%[1]sBefore && variables.%[1]sBefore[key] == variables.%[1]s[key])", field))},
		{Name: field + "Removed", Expression: find(field+"Before", fmt.Sprintf("!(key in variables.%s)", field))},
	}
}

// onlyWithTheRight are the rules. An expression for a message cannot ask for the
// right, and is worked out also where there is nothing to say.
func onlyWithTheRight() []admissionv1.Validation {
	allowed := fmt.Sprintf("authorizer.group('%s').resource('%s').check('%s').allowed()", v1.GroupVersion.Group, nodeMetadataResource, nodeMetadataVerb)
	who := fmt.Sprintf("only the controller, cluster administrators and others with the right to %s %s.%s may",
		nodeMetadataVerb, nodeMetadataResource, v1.GroupVersion.Group)
	rule := fmt.Sprintf("%s set, change or remove labels and annotations of nodes under %s/", who, v1.Domain)
	return []admissionv1.Validation{
		{
			Expression: allowed + " || size(variables.labelsSet) + size(variables.labelsRemoved) + size(variables.annotationsSet) + size(variables.annotationsRemoved) == 0",
			Reason:     ptr.To(metav1.StatusReasonForbidden),
			Message:    rule,
			MessageExpression: fmt.Sprintf(`((variables.labelsSet + variables.labelsRemoved).map(key, 'label ' + key) +
(variables.annotationsSet + variables.annotationsRemoved).map(key, 'annotation ' + key)).join(', ') + ': %s'`, rule),
		},
		{
			Expression: allowed + " || !variables.labelsTooMany && !variables.annotationsTooMany",
			Reason:     ptr.To(metav1.StatusReasonForbidden),
			Message:    fmt.Sprintf("%s change the labels and annotations of a node with more than %d of either", who, maxNodeKeys),
		},
	}
}
