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
func (r *reader) rights(ctx context.Context) (err error) {
	if r.state.Account == nil {
		return nil
	}
	needed := slices.Concat(questions(manifests.ClusterRules(), ""), questions(manifests.NamespaceRules(), r.namespace))
	if d := r.state.Deployment; d != nil && doctor.MetricsServing(d) == manifests.SecureMetrics {
		needed = append(needed, questions(manifests.MetricsRules(), "")...)
	}
	if r.state.Missing, err = r.missing(ctx, needed); err != nil || r.state.Unread[doctor.Rights] != nil {
		return err
	}
	r.state.MissingForDrains, err = r.missing(ctx, questions(manifests.RolloutRules(), ""))
	return err
}

// missing are the rights that the account does not have. Where this user may not ask, that
// is kept as the reason for which they are not known.
func (r *reader) missing(ctx context.Context, asked []authorizationv1.ResourceAttributes) ([]string, error) {
	var missing []string
	for _, question := range asked {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + r.namespace + ":" + r.state.Account.Name,
			Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + r.namespace, "system:authenticated"},
			ResourceAttributes: &question,
		}}
		if err := r.client.Create(ctx, review); err != nil {
			return nil, r.unless(doctor.Rights, "create subjectaccessreviews", err)
		}
		if !review.Status.Allowed {
			missing = append(missing, named(question))
		}
	}
	return missing, nil
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
