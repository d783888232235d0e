package manifests

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// WebhookName is the name of every object of [Webhook].
const WebhookName = Name + "-webhook"

// WebhookPort is the port of the Service for an Ingress to lead to.
const WebhookPort = 80

// Ports of the container, by their names.
const (
	metricsPort, healthPort, webhookPort                   = "metrics", "health", "webhook"
	metricsPortNumber, healthPortNumber, webhookPortNumber = 8080, 8081, 9292
)

// Webhook returns the Service at which Git servers report pushes, and a policy: from
// outside of the cluster nothing else of the controller is reached.
func Webhook(namespace string) []Object {
	return []Object{
		&corev1.Service{
			TypeMeta:   kind(corev1.SchemeGroupVersion, "Service"),
			ObjectMeta: metaOf(WebhookName, namespace),
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeClusterIP,
				// Every replica receives, also the one that does not hold the lease.
				Selector: Labels(),
				Ports: []corev1.ServicePort{{
					Name: "http", Port: WebhookPort, TargetPort: intstr.FromString(webhookPort), Protocol: corev1.ProtocolTCP,
				}},
			},
		},
		&networkingv1.NetworkPolicy{
			TypeMeta:   kind(networkingv1.SchemeGroupVersion, "NetworkPolicy"),
			ObjectMeta: metaOf(WebhookName, namespace),
			Spec: networkingv1.NetworkPolicySpec{
				PodSelector: metav1.LabelSelector{MatchLabels: Labels()},
				PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
				Ingress: []networkingv1.NetworkPolicyIngressRule{
					// Whatever serves an Ingress may be anywhere, and keep the address
					// of who asks; and so may the kubelet, which probes.
					{Ports: []networkingv1.NetworkPolicyPort{policyPort(webhookPort), policyPort(healthPort)}},
					metricsRule(),
				},
			},
		},
	}
}

func policyPort(name string) networkingv1.NetworkPolicyPort {
	protocol, port := corev1.ProtocolTCP, intstr.FromString(name)
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: &port}
}
