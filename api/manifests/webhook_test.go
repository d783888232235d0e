package manifests

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The Service leads to every replica, and the policy lets in what it leads to, what the
// kubelet probes, and for pods of the cluster alone the metrics.
func TestWebhookLeadsToTheController(t *testing.T) {
	o := Options{Namespace: "here", Image: "nodepools:v1", Webhook: true}
	pod := Deployment(o).Spec.Template
	container := pod.Spec.Containers[0]
	if i := slices.Index(container.Args, "--webhook-bind-address=:9292"); i < 0 {
		t.Errorf("the controller is run with %q", container.Args)
	}
	open := map[string]int{} // by port, the number of rules that admit it
	fromPods := map[string]bool{}
	for _, object := range Webhook(o.Namespace) {
		if object.GetNamespace() != o.Namespace || object.GetName() != WebhookName {
			t.Errorf("%T is %s/%s", object, object.GetNamespace(), object.GetName())
		}
		switch object := object.(type) {
		case *corev1.Service:
			if !labels.SelectorFromSet(object.Spec.Selector).Matches(labels.Set(pod.Labels)) {
				t.Errorf("the Service selects %v, and the pods have %v", object.Spec.Selector, pod.Labels)
			}
			if port := portOf(container, object.Spec.Ports[0].TargetPort); port != 9292 {
				t.Errorf("the Service leads to port %d", port)
			}
		case *networkingv1.NetworkPolicy:
			if selected := object.Spec.PodSelector.MatchLabels; !labels.SelectorFromSet(selected).Matches(labels.Set(pod.Labels)) {
				t.Errorf("the policy selects %v, and the pods have %v", selected, pod.Labels)
			}
			if !slices.Equal(object.Spec.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}) {
				t.Errorf("the policy is one for %v: what the controller asks must not be limited", object.Spec.PolicyTypes)
			}
			for _, rule := range object.Spec.Ingress {
				for _, port := range rule.Ports {
					if portOf(container, *port.Port) == 0 {
						t.Errorf("the policy admits the port %v, which there is not", port.Port)
					}
					open[port.Port.StrVal]++
					fromPods[port.Port.StrVal] = len(rule.From) > 0
				}
			}
		}
	}
	if len(open) != 3 || open["webhook"] != 1 || open["health"] != 1 || open["metrics"] != 1 {
		t.Errorf("the policy admits %v", open)
	}
	if fromPods["webhook"] || fromPods["health"] || !fromPods["metrics"] {
		t.Errorf("limited to pods of the cluster are %v, want the metrics", fromPods)
	}
}

func portOf(container corev1.Container, name intstr.IntOrString) int32 {
	for _, port := range container.Ports {
		if port.Name == name.StrVal {
			return port.ContainerPort
		}
	}
	return 0
}

// Off by default: nothing listens, and nothing leads there.
func TestNoWebhookUnlessAskedFor(t *testing.T) {
	all, err := All(Options{Namespace: "here", Image: "nodepools:v1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range all {
		if object.GetName() == WebhookName {
			t.Errorf("there is a %T", object)
		}
	}
	container := Deployment(Options{Image: "nodepools:v1"}).Spec.Template.Spec.Containers[0]
	if len(container.Ports) != 2 || strings.Contains(strings.Join(container.Args, " "), "webhook") {
		t.Errorf("the controller is run with %q, and has the ports %v", container.Args, container.Ports)
	}
}
