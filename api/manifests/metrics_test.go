package manifests

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// For each way of serving there is what it takes, and no right besides.
func TestMetricsAreServedAsAskedFor(t *testing.T) {
	for serving, want := range map[MetricsServing]struct {
		args  []string
		port  int32
		roles []string
	}{
		"":            {[]string{"run", "--leader-elect", "--metrics-bind-address=:8443"}, 8443, []string{MetricsName, MetricsReaderName}},
		SecureMetrics: {[]string{"run", "--leader-elect", "--metrics-bind-address=:8443"}, 8443, []string{MetricsName, MetricsReaderName}},
		PlainMetrics:  {[]string{"run", "--leader-elect", "--metrics-bind-address=:8080", "--metrics-secure=false"}, 8080, nil},
		NoMetrics:     {[]string{"run", "--leader-elect", "--metrics-bind-address=0"}, 0, nil},
	} {
		o := Options{Namespace: "here", Image: "nodepools:v1", Metrics: serving}
		if err := o.Validate(); err != nil {
			t.Errorf("%s: %v", serving, err)
		}
		all, err := All(o)
		if err != nil {
			t.Fatal(err)
		}
		pod := Deployment(o).Spec.Template
		container := pod.Spec.Containers[0]
		if !slices.Equal(container.Args, want.args) {
			t.Errorf("%s: the controller is run with %q, want %q", serving, container.Args, want.args)
		}
		var roles []string
		services := 0
		for _, object := range all {
			switch object := object.(type) {
			case *rbacv1.ClusterRole:
				if object.Name != Name {
					roles = append(roles, object.Name)
				}
			case *corev1.Service:
				services++
				port := object.Spec.Ports[0]
				if portOf(container, port.TargetPort) != want.port || port.Port != want.port || object.Namespace != "here" ||
					!labels.SelectorFromSet(object.Spec.Selector).Matches(labels.Set(pod.Labels)) {
					t.Errorf("%s: the Service %s/%s leads nowhere: %+v", serving, object.Namespace, object.Name, object.Spec)
				}
			}
		}
		if !slices.Equal(roles, want.roles) || services > 1 || (services == 1) != (want.port != 0) {
			t.Errorf("%s: there are %d Services and the roles %v, want %v", serving, services, roles, want.roles)
		}
	}
	if err := (Options{Namespace: "here", Image: "nodepools:v1", Metrics: "open"}).Validate(); err == nil {
		t.Error("metrics are served in a way that there is not")
	}
}

// Who reads the metrics may read nothing else, and the controller may review and nothing
// else.
func TestMetricsRulesAreTheLeast(t *testing.T) {
	for _, rule := range MetricsRules() {
		if !slices.Equal(rule.Verbs, []string{"create"}) || len(rule.Resources) != 1 || len(rule.NonResourceURLs) > 0 {
			t.Errorf("to review: %v", rule)
		}
	}
	if rules := MetricsReaderRules(); len(rules) != 1 || len(rules[0].Resources) > 0 ||
		!slices.Equal(rules[0].NonResourceURLs, []string{"/metrics"}) || !slices.Equal(rules[0].Verbs, []string{"get"}) {
		t.Errorf("to read: %v", rules)
	}
}
