package manifests_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// The author of a pool, whatever else he may write of our group, forges no status:
// neither what others have set on a RuntimeClass nor what somebody has approved.
func TestWhoMayWriteAStatus(t *testing.T) {
	p := newTest(t)
	scheme, err := controller.NewScheme()
	p.Do(err)
	admin, err := client.New(p.Cluster.Config, client.Options{Scheme: scheme})
	p.Do(err)
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "forged"}}
	source := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "forged"}, Spec: v1.NodePoolSourceSpec{URL: "https://git.example.com/x", Interval: metav1.Duration{Duration: v1.DefaultInterval}, Suspend: true}}
	p.Node("n1", nil, nil)
	p.Do(admin.Create(t.Context(), pool))
	p.Do(admin.Create(t.Context(), source))
	every := rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}
	standard := rbacv1.PolicyRule{APIGroups: []string{v1.GroupVersion.Group}, Resources: []string{"*"},
		Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}}
	less := slices.Clone(manifests.ClusterRules())
	for i := range less {
		if slices.Contains(less[i].Resources, "nodepools/status") {
			less[i].Verbs = []string{"patch"}
		}
	}
	forge := func(by client.Client, object client.Object, patch string) error {
		return by.Status().Patch(context.Background(), object.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
	}
	forgeries := map[string]func(client.Client) error{
		"nodepools": func(by client.Client) error {
			return forge(by, pool, `{"status":{"accepted":{"generation":1,"spec":{}},"replacedRuntimeClass":{"uid":"x"}}}`)
		},
		"nodepoolsources": func(by client.Client) error {
			return forge(by, source, `{"status":{"blockedPrune":{"revision":"main@sha1:0000000000000000000000000000000000000000","pools":["a"],"count":1}}}`)
		},
	}
	as := func(rules []rbacv1.PolicyRule) client.Client {
		// By the node it is seen when a role is in force.
		nodes := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"patch"}}
		config, err := p.Cluster.AddUser(p.UserWith(t, append(slices.Clone(rules), nodes)))
		p.Do(err)
		user, err := client.New(config, client.Options{Scheme: scheme})
		p.Do(err)
		return user
	}
	author := as([]rbacv1.PolicyRule{standard})
	for resource, write := range forgeries {
		cluster.Eventually(t, "without the policy an author forges "+resource, waitTimeout, func() error { return write(author) })
	}

	p.Apply(manifests.StatusPolicy())
	t.Cleanup(func() {
		if _, err := p.Cluster.Kubectl(context.Background(), "delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", manifests.StatusPolicyName); err != nil {
			t.Error(err)
		}
	})
	cluster.Eventually(t, "the policy is enforced", waitTimeout, func() error {
		for resource, write := range forgeries {
			if err := write(author); !apierrors.IsForbidden(err) {
				return fmt.Errorf("%s: a forged status: %w", resource, err)
			}
		}
		return nil
	})
	for reason, test := range map[string]struct {
		rules   []rbacv1.PolicyRule
		allowed bool
	}{
		"the controller, by its role":        {manifests.ClusterRules(), true},
		"that role without the one verb":     {less, false},
		"a cluster administrator":            {[]rbacv1.PolicyRule{every}, true},
		"who may write every kind of ours":   {[]rbacv1.PolicyRule{standard}, false},
		"the same with the one verb as well": {[]rbacv1.PolicyRule{standard, {APIGroups: []string{v1.GroupVersion.Group}, Resources: []string{"nodepools/status", "nodepoolsources/status"}, Verbs: []string{manifests.StatusVerb}}}, true},
	} {
		user := as(test.rules)
		for resource, write := range forgeries {
			if test.allowed {
				cluster.Eventually(t, reason+" writes the status of "+resource, waitTimeout, func() error { return write(user) })
				continue
			}
			// The API server may not know the role yet, and refuses that as well.
			cluster.Eventually(t, reason+" is refused", waitTimeout, func() error {
				err := write(user)
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+manifests.StatusPolicyName+"'") || !strings.Contains(err.Error(), "the right to write nodepools/status") {
					return fmt.Errorf("%s: got %w", resource, err)
				}
				return nil
			})
		}
	}
}
