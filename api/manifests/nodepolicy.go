package manifests

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
	NodeMetadataResource = "nodemetadata"
	NodeMetadataVerb     = "write"
)

// NodePolicy returns an admission policy, and its binding, by which only who
// has that right sets, changes or removes labels and annotations of our domain
// on nodes. The controller takes off a node what the record there says is the
// pools', and leaves alone a node that is paused there; and all of that a
// kubelet may otherwise write on its own node. It also keeps kubelets from filling
// the annotations of their nodes, so that what pools put there has room.
//
// Nobody is named. Cluster administrators have every right, so they can repair
// a record, pause a node, and run the controller with their own kubeconfig.
//
// The expressions keep to what Kubernetes 1.30 understands, and cannot fail: an
// error would refuse the request. A write that leaves labels and annotations as
// they are, as most do by which a kubelet reports its status, is let through
// before anything is looked at.
func NodePolicy() []Object {
	var variables []admissionv1.Variable
	for _, field := range []string{"labels", "annotations"} {
		variables = append(variables, ownEntries(field, "object", "")...)
		variables = append(variables, ownEntries(field, "oldObject", "Before")...)
		variables = append(variables, changedKeys(field))
	}
	return []Object{
		&admissionv1.ValidatingAdmissionPolicy{
			TypeMeta: kind(admissionv1.SchemeGroupVersion, "ValidatingAdmissionPolicy"), ObjectMeta: metaOf(Name, ""),
			Spec: admissionv1.ValidatingAdmissionPolicySpec{
				FailurePolicy:    ptr.To(admissionv1.Fail),
				MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{nodeWrites()}},
				MatchConditions:  []admissionv1.MatchCondition{metadataChanges()},
				Variables:        variables,
				Validations:      []admissionv1.Validation{onlyWithTheRight(), kubeletAnnotations()},
			},
		},
		&admissionv1.ValidatingAdmissionPolicyBinding{
			TypeMeta: kind(admissionv1.SchemeGroupVersion, "ValidatingAdmissionPolicyBinding"), ObjectMeta: metaOf(Name, ""),
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName:        Name,
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

// ownEntries finds the labels or annotations of our domain, as one text in which
// equal texts are equal entries; it is empty where there are none.
//
// A node may have tens of thousands of keys, and a macro that walks over a map
// takes time that grows with the square of its size: half a minute in which a
// kubelet keeps an API server busy, or, with a bound on the keys, a node that
// nobody can change. So the map becomes a text at once, which takes time in
// proportion to it: {"key":"value", "key":"value"}, sorted by key, quoted as Go
// does. In it every quote within a key or a value has a backslash in front, so
// what separates entries is found in no value; and keys of one domain stand next
// to each other. The text is never empty, where there is no object either: Kubernetes
// before 1.34 cannot look for the last place of anything in an empty one.
func ownEntries(field, object, suffix string) []admissionv1.Variable {
	name := field + suffix
	text, tail := "variables."+name+"Text", "variables."+name+"Tail"
	begin := fmt.Sprintf(`', "%s/'`, v1.Domain)
	return []admissionv1.Variable{
		{Name: name + "Text", Expression: fmt.Sprintf("%[1]s == null ? ', }' : ', ' + '%%s'.format([%[2]s]).substring(1)", object, keysOf(object, field))},
		// From the last key of the domain on, and with the entries after it.
		{Name: name + "Tail", Expression: fmt.Sprintf("%[1]s.lastIndexOf(%[2]s) < 0 ? '' : %[1]s.substring(%[1]s.lastIndexOf(%[2]s))", text, begin)},
		{Name: name + "Own", Expression: fmt.Sprintf(
			`%[2]s == '' ? '' : %[1]s.substring(%[1]s.indexOf(%[3]s) + 3, size(%[1]s) - size(%[2]s) + (%[2]s.indexOf('", "', 3) < 0 ? size(%[2]s) - 2 : %[2]s.indexOf('", "', 3)))`,
			text, tail, begin)},
	}
}

// changedKeys names the keys of our domain in a field of the metadata that are
// added, changed or removed, for the message; none where that would be many.
func changedKeys(field string) admissionv1.Variable {
	own, before := "variables."+field+"Own", "variables."+field+"BeforeOwn"
	entries := func(of, condition string) string {
		return fmt.Sprintf(`%s.split('", "').filter(entry, entry != '' && %s).map(entry, entry.split('":"')[0])`, of, condition)
	}
	return admissionv1.Variable{Name: field + "Changed", Expression: fmt.Sprintf("size(%[1]s) + size(%[2]s) > %[3]d ? [] : %[4]s + %[5]s", own, before, maxNamedBytes,
		entries(own, fmt.Sprintf(`!(entry in %s.split('", "'))`, before)),
		entries(before, fmt.Sprintf(`!%s.contains(entry.split('":"')[0] + '":"')`, own)))}
}

// maxNamedBytes is the size of the entries before and after from which on no key is
// named. A record of many pools is about as large.
const maxNamedBytes = 16 << 10

// onlyWithTheRight is the rule. An expression for a message cannot ask for the
// right, and is worked out also where there is nothing to say.
func onlyWithTheRight() admissionv1.Validation {
	allowed := fmt.Sprintf("authorizer.group('%s').resource('%s').check('%s').allowed()", v1.GroupVersion.Group, NodeMetadataResource, NodeMetadataVerb)
	rule := fmt.Sprintf("only the controller, cluster administrators and others with the right to %s %s.%s may set, change or remove labels and annotations of nodes under %s/",
		NodeMetadataVerb, NodeMetadataResource, v1.GroupVersion.Group, v1.Domain)
	return admissionv1.Validation{
		Expression:        allowed + " || variables.labelsOwn == variables.labelsBeforeOwn && variables.annotationsOwn == variables.annotationsBeforeOwn",
		Reason:            ptr.To(metav1.StatusReasonForbidden),
		Message:           rule,
		MessageExpression: fmt.Sprintf(`(variables.labelsChanged.map(key, 'label ' + key) + variables.annotationsChanged.map(key, 'annotation ' + key)).join(', ') + ': %s'`, rule),
	}
}

// nodesGroup is the group of kubelets.
const nodesGroup = "system:nodes"

// MaxKubeletAnnotations is how many bytes the annotations of a node may take together where its
// kubelet writes them, as a text in quotes. The API server takes 256 KiB of annotations: what is left
// has room for the record, and for the annotations of pools.
const MaxKubeletAnnotations = 128 << 10

// kubeletAnnotations bounds what a kubelet may write. What is larger already may become smaller.
func kubeletAnnotations() admissionv1.Validation {
	size := func(variable string) string { return fmt.Sprintf("size(bytes(variables.%s))", variable) }
	return admissionv1.Validation{
		Expression: fmt.Sprintf("!has(request.userInfo.groups) || !('%s' in request.userInfo.groups) || %s <= %d || %[2]s <= %[4]s",
			nodesGroup, size("annotationsText"), MaxKubeletAnnotations, size("annotationsBeforeText")),
		Reason:  ptr.To(metav1.StatusReasonForbidden),
		Message: fmt.Sprintf("the annotations of a node may take %d KiB together where its kubelet writes them", MaxKubeletAnnotations>>10),
	}
}
