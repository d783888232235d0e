package examine

import (
	"context"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/nodepools/nodepools/api/manifests"
	"github.com/nodepools/nodepools/apply/doctor"
)

// rights asks for each right that the controller needs whether its account has it,
// however that was given.
func (r *reader) rights(ctx context.Context) error {
	if r.state.Account == nil {
		return nil
	}
	asked := slices.Concat(questions(manifests.ClusterRules(), ""), questions(manifests.NamespaceRules(), r.namespace))
	if r.securesMetrics() {
		asked = append(asked, questions(manifests.MetricsRules(), "")...)
	}
	for _, question := range asked {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + r.namespace + ":" + r.state.Account.Name,
			Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + r.namespace, "system:authenticated"},
			ResourceAttributes: &question,
		}}
		if err := r.client.Create(ctx, review); err != nil {
			return r.unless(doctor.Rights, "create subjectaccessreviews", err)
		}
		if !review.Status.Allowed {
			r.state.Missing = append(r.state.Missing, named(question))
		}
	}
	return nil
}

// securesMetrics reports whether the controller is told to review who reads its metrics,
// which it does unless it is told otherwise.
func (r *reader) securesMetrics() bool {
	if r.state.Deployment == nil {
		return false
	}
	for _, c := range r.state.Deployment.Spec.Template.Spec.Containers {
		if c.Name == manifests.Name {
			return !slices.Contains(c.Args, "--metrics-bind-address=0") && !slices.Contains(c.Args, "--metrics-secure=false")
		}
	}
	return false
}

// questions are the rights of rules, one by one.
func questions(rules []rbacv1.PolicyRule, namespace string) []authorizationv1.ResourceAttributes {
	var all []authorizationv1.ResourceAttributes
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""} // of any name
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					resource, subresource, _ := strings.Cut(resource, "/")
					question := authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: subresource}
					for _, question.Name = range names {
						all = append(all, question)
					}
				}
			}
		}
	}
	return all
}

// named is a right as kubectl auth can-i has it.
func named(q authorizationv1.ResourceAttributes) string {
	name := q.Verb + " " + q.Resource
	if q.Subresource != "" {
		name += "/" + q.Subresource
	}
	if q.Group != "" {
		name += " of " + q.Group
	}
	if q.Namespace != "" {
		name += " in " + q.Namespace
	}
	return name
}
