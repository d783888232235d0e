package manifests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// The shipped roles, those of every option, give nothing wholesale, and in the cluster no
// Secret. In the namespace of the controller one may be read by its name; all of them, never:
// list and watch show the whole content.
func TestShippedRolesGiveNoSecrets(t *testing.T) {
	shipped, err := All(Options{Namespace: "ns", Image: "image:1", Webhook: true, Rollout: true})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"ClusterRole " + MetricsReaderName: `rule 0 gives the paths ["/metrics"]`,
		"Role " + Name:                     "rule 2 gives every Secret",
	}
	var roles []string
	for _, object := range append(shipped, Viewer("ns")...) {
		var rules []rbacv1.PolicyRule
		switch role := object.(type) {
		case *rbacv1.ClusterRole:
			rules = role.Rules
		case *rbacv1.Role:
			rules = role.Rules
		default:
			continue
		}
		role := object.GetObjectKind().GroupVersionKind().Kind + " " + object.GetName()
		roles = append(roles, role)
		if problems := strings.Join(wholesale(rules), "; "); problems != want[role] {
			t.Errorf("%s: %q, want %q", role, problems, want[role])
		}
	}
	slices.Sort(roles)
	if want := []string{
		"ClusterRole " + Name, "ClusterRole " + MetricsName, "ClusterRole " + MetricsReaderName, "ClusterRole " + RolloutName, "ClusterRole " + ViewerName, "Role " + Name,
	}; !slices.Equal(roles, want) {
		t.Errorf("the roles are %q, want %q", roles, want)
	}
}

func TestRulesThatGiveSecretsAreFound(t *testing.T) {
	rule := func(group, resource, verb string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}}
	}
	named := rule("", "secrets", "get")
	named.ResourceNames = []string{"git"}
	namedList := rule("", "secrets", "list")
	namedList.ResourceNames = []string{"git"}
	for reason, test := range map[string]struct {
		rule  rbacv1.PolicyRule
		found bool
	}{
		"list":                           {rule("", "secrets", "list"), true},
		"watch":                          {rule("", "secrets", "watch"), true},
		"get without a name":             {rule("", "secrets", "get"), true},
		"get of one":                     {named, false},
		"list of one":                    {namedList, true},
		"change":                         {rule("", "secrets", "patch"), true},
		"every verb":                     {rule("", "nodes", "*"), true},
		"every resource":                 {rule("", "*", "get"), true},
		"every subresource":              {rule("", "nodes/*", "get"), true},
		"every group":                    {rule("*", "nodes", "get"), true},
		"paths":                          {rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}, true},
		"a resource that is named alike": {rule("example.com", "secrets", "list"), false},
	} {
		if found := wholesale([]rbacv1.PolicyRule{test.rule}); len(found) > 0 != test.found {
			t.Errorf("%s: found %q", reason, found)
		}
	}
}

// wholesale reports the rules that give more than can be looked over.
func wholesale(rules []rbacv1.PolicyRule) []string {
	var problems []string
	for i, rule := range rules {
		for _, word := range slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs, rule.ResourceNames) {
			if strings.Contains(word, "*") {
				problems = append(problems, fmt.Sprintf("rule %d has the wildcard %q", i, word))
			}
		}
		if len(rule.NonResourceURLs) > 0 {
			problems = append(problems, fmt.Sprintf("rule %d gives the paths %q", i, rule.NonResourceURLs))
		}
		if !slices.Contains(rule.APIGroups, "") || !slices.Contains(rule.Resources, "secrets") {
			continue
		}
		if len(rule.ResourceNames) == 0 {
			problems = append(problems, fmt.Sprintf("rule %d gives every Secret", i))
		}
		for _, verb := range rule.Verbs {
			if verb != "get" {
				problems = append(problems, fmt.Sprintf("rule %d gives more than reading one Secret: %s", i, verb))
			}
		}
	}
	return problems
}
