package plan

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"
)

func TestAdmissionControlJudgesPools(t *testing.T) {
	rule := func(group, resource string) admissionregistrationv1.Rule {
		return admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v9"}, Resources: []string{"pods", resource}}
	}
	namespaced := rule("*", "*")
	namespaced.Scope = ptr.To(admissionregistrationv1.NamespacedScope)
	cluster := rule("*", "*")
	cluster.Scope = ptr.To(admissionregistrationv1.ClusterScope)
	for _, tc := range []struct {
		name   string
		reason string
		rule   admissionregistrationv1.Rule
		want   bool
	}{
		{"pools", "it names them", rule("nodes.lailin.xyz", "nodepools"), true},
		{"all of the group", "pools are among them", rule("nodes.lailin.xyz", "*"), true},
		{"all of all", "as many policy engines ask for", rule("*", "*/*"), true},
		{"everything of the cluster", "pools belong to no namespace", cluster, true},
		{"another resource", "sources are no pools", rule("nodes.lailin.xyz", "nodepoolsources"), false},
		{"another group", "OpenYurt has pools of nodes as well", rule("apps.openyurt.io", "nodepools"), false},
		{"statuses of all", "a status is written apart", rule("*", "*/status"), false},
		{"statuses of pools", "a status is written apart", rule("*", "nodepools/status"), false},
		{"everything in namespaces", "pools belong to no namespace", namespaced, false},
	} {
		rules := []admissionregistrationv1.RuleWithOperations{{Rule: tc.rule, Operations: []admissionregistrationv1.OperationType{"DELETE"}}}
		match := &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: rules[0]}}}
		for kind, all := range map[string]AdmissionControl{
			"validating webhook": {ValidatingWebhooks: []admissionregistrationv1.ValidatingWebhookConfiguration{{Webhooks: []admissionregistrationv1.ValidatingWebhook{{}, {Rules: rules}}}}},
			"mutating webhook":   {MutatingWebhooks: []admissionregistrationv1.MutatingWebhookConfiguration{{Webhooks: []admissionregistrationv1.MutatingWebhook{{}, {Rules: rules}}}}},
			"validating policy":  {ValidatingPolicies: []admissionregistrationv1.ValidatingAdmissionPolicy{{Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{MatchConstraints: match}}}},
			"mutating policy":    {MutatingPolicies: []admissionregistrationv1.MutatingAdmissionPolicy{{Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{MatchConstraints: match}}}},
		} {
			if got := all.JudgesPools(); got != tc.want {
				t.Errorf("%s by a %s: %v, want %v: %s", tc.name, kind, got, tc.want, tc.reason)
			}
		}
	}
	if (AdmissionControl{}).JudgesPools() {
		t.Error("nothing judges pools")
	}
	unlimited := AdmissionControl{ValidatingPolicies: []admissionregistrationv1.ValidatingAdmissionPolicy{{}}}
	if !unlimited.JudgesPools() {
		t.Error("a policy without constraints may judge pools")
	}
}
