package doctor

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nodepools/nodepools/api/manifests"
)

const metricsObject = "service/" + manifests.MetricsName

// metrics are served by the container, where there is one, and found by a Service. They are
// not read: a laptop does not reach the pods. The rights by which the controller reviews
// readers are among those of [Rights].
func metrics(s *State) []Finding {
	switch {
	case s.Deployment == nil:
		return []Finding{{Severity: Note, Message: "not checked: the controller runs elsewhere"}}
	case container(s.Deployment) == nil:
		return []Finding{{Severity: Note, Message: "not checked: the Deployment has no container " + manifests.Name}}
	case MetricsServing(s.Deployment) == manifests.NoMetrics:
		return []Finding{{Severity: Note, Message: "the controller is told to serve none", Action: "without --metrics-bind-address=0 alerts have something to go by"}}
	case s.MetricsService == nil:
		return []Finding{{Severity: Note, Message: fmt.Sprintf("the controller is told to serve them, and there is no Service %s in %s: whoever scrapes has to find the pods without it", manifests.MetricsName, s.Namespace),
			Action: reinstall}}
	case !leadsTo(s.MetricsService, s.Deployment):
		return []Finding{{Severity: Problem, Object: metricsObject, Message: "has a selector that no pod of the controller matches, or no port that one of them has", Action: reinstall}}
	}
	return nil
}

// metricsFine says no more than what was observed.
func metricsFine(s *State) string {
	to := "by TLS to those who may read"
	if MetricsServing(s.Deployment) == manifests.PlainMetrics {
		to = "in the clear to everybody"
	}
	return "the controller is told to serve them, " + to + ", and " + metricsObject + " leads to it; they were not read"
}

// MetricsServing is how a Deployment tells the controller to serve metrics; none, where it
// has no container of that name.
func MetricsServing(d *appsv1.Deployment) manifests.MetricsServing {
	c := container(d)
	switch {
	case c == nil || slices.Contains(c.Args, "--metrics-bind-address=0"):
		return manifests.NoMetrics
	case slices.Contains(c.Args, "--metrics-secure=false"):
		return manifests.PlainMetrics
	}
	return manifests.SecureMetrics
}

// container is that of the controller; nil where there is none.
func container(d *appsv1.Deployment) *corev1.Container {
	for i, c := range d.Spec.Template.Spec.Containers {
		if c.Name == manifests.Name {
			return &d.Spec.Template.Spec.Containers[i]
		}
	}
	return nil
}

// leadsTo reports whether a Service selects the pods of a Deployment, and one of its ports
// is a port of the controller.
func leadsTo(service *corev1.Service, d *appsv1.Deployment) bool {
	selector := service.Spec.Selector
	if len(selector) == 0 || !labels.SelectorFromSet(selector).Matches(labels.Set(d.Spec.Template.Labels)) {
		return false
	}
	return slices.ContainsFunc(service.Spec.Ports, func(port corev1.ServicePort) bool {
		return slices.ContainsFunc(container(d).Ports, func(open corev1.ContainerPort) bool {
			return port.TargetPort == intstr.FromString(open.Name) || port.TargetPort == intstr.FromInt32(open.ContainerPort)
		})
	})
}
