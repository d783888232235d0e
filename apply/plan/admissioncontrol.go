package plan

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// AdmissionControl is what a cluster has that may refuse or change an object before it is
// stored, beside the schema of its kind.
type AdmissionControl struct {
	ValidatingWebhooks []admissionregistrationv1.ValidatingWebhookConfiguration
	MutatingWebhooks   []admissionregistrationv1.MutatingWebhookConfiguration
	ValidatingPolicies []admissionregistrationv1.ValidatingAdmissionPolicy
	MutatingPolicies   []admissionregistrationv1.MutatingAdmissionPolicy
}

// JudgesPools reports whether any of it may judge a NodePool. It goes by groups and
// resources alone: selectors, match conditions, exclusions and the lack of a binding
// may let every pool through, and to find that out is the API server's.
func (a AdmissionControl) JudgesPools() bool {
	for _, configuration := range a.ValidatingWebhooks {
		for _, webhook := range configuration.Webhooks {
			if slices.ContainsFunc(webhook.Rules, meansPools) {
				return true
			}
		}
	}
	for _, configuration := range a.MutatingWebhooks {
		for _, webhook := range configuration.Webhooks {
			if slices.ContainsFunc(webhook.Rules, meansPools) {
				return true
			}
		}
	}
	return slices.ContainsFunc(a.ValidatingPolicies, func(policy admissionregistrationv1.ValidatingAdmissionPolicy) bool {
		match := policy.Spec.MatchConstraints
		return match == nil || slices.ContainsFunc(match.ResourceRules, namedMeansPools)
	}) || slices.ContainsFunc(a.MutatingPolicies, func(policy admissionregistrationv1.MutatingAdmissionPolicy) bool {
		match := policy.Spec.MatchConstraints
		return match == nil || slices.ContainsFunc(match.ResourceRules, namedMeansPools)
	})
}

func namedMeansPools(rule admissionregistrationv1.NamedRuleWithOperations) bool {
	return meansPools(rule.RuleWithOperations)
}

// meansPools reports whether a rule matches NodePools. Any version of the group will
// do, as a rule for one of them matches the others by its match policy.
func meansPools(rule admissionregistrationv1.RuleWithOperations) bool {
	if rule.Scope != nil && *rule.Scope == admissionregistrationv1.NamespacedScope {
		return false
	}
	return containsAny(rule.APIGroups, "*", v1.GroupVersion.Group) && containsAny(rule.Resources, "*", "*/*", "nodepools")
}

func containsAny(list []string, wanted ...string) bool {
	return slices.ContainsFunc(wanted, func(value string) bool { return slices.Contains(list, value) })
}
