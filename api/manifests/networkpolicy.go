package manifests

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NetworkPolicy returns a policy by which nothing else of the controller is reached than
// what the kubelet probes, and the metrics by pods of the cluster. What [Webhook] lets
// in comes on top. It is part of the chart, where it can be asked for.
func NetworkPolicy(namespace string) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		TypeMeta:   kind(networkingv1.SchemeGroupVersion, "NetworkPolicy"),
		ObjectMeta: metaOf(Name, namespace),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: Labels()},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{
				// The kubelet may have any address.
				{Ports: []networkingv1.NetworkPolicyPort{policyPort(healthPort)}},
				metricsRule(),
			},
		},
	}
}

// metricsRule leaves the metrics to the pods of the cluster, as they are without a
// policy.
func metricsRule() networkingv1.NetworkPolicyIngressRule {
	return networkingv1.NetworkPolicyIngressRule{
		Ports: []networkingv1.NetworkPolicyPort{policyPort(metricsPort)},
		From:  []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}},
	}
}
