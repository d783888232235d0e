package nodecache

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// realisticNode is as large as the nodes of a cloud: labels and annotations of
// several controllers, fifty images, and who manages all of that.
func realisticNode(i int) *corev1.Node {
	name := fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", i>>16&255, i>>8&255, i&255)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: "7f2c1d9e-5b3a-4f60-9c8e-2a1b3c4d5e6f", ResourceVersion: fmt.Sprint(1e6 + i),
		Labels: map[string]string{
			"beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/instance-type": "m6i.4xlarge", "beta.kubernetes.io/os": "linux",
			"failure-domain.beta.kubernetes.io/region": "eu-central-1", "failure-domain.beta.kubernetes.io/zone": "eu-central-1a",
			"kubernetes.io/arch": "amd64", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
			"node.kubernetes.io/instance-type": "m6i.4xlarge", "topology.ebs.csi.aws.com/zone": "eu-central-1a",
			"topology.kubernetes.io/region": "eu-central-1", "topology.kubernetes.io/zone": "eu-central-1a",
			"k8s.io/cloud-provider-aws": "5553ae84a0d29114870f67bbabd07d44", "team": "payments", v1.RoleLabel("general"): "", "tier": "gold",
		},
		Annotations: map[string]string{
			"alpha.kubernetes.io/provided-node-ip":                   fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255),
			"csi.volume.kubernetes.io/nodeid":                        fmt.Sprintf(`{"ebs.csi.aws.com":"i-%017x","efs.csi.aws.com":"i-%017x"}`, i, i),
			"node.alpha.kubernetes.io/ttl":                           "300",
			"projectcalico.org/IPv4Address":                          fmt.Sprintf("10.%d.%d.%d/20", i>>16&255, i>>8&255, i&255),
			"projectcalico.org/IPv4IPIPTunnelAddr":                   fmt.Sprintf("192.168.%d.%d", i>>8&255, i&255),
			"volumes.kubernetes.io/controller-managed-attach-detach": "true",
			v1.AppliedAnnotation:                                     `{"version":1,"pools":{"general":{"labels":{"tier":"gold"},"taints":{"general:NoSchedule":"yes"}}}}`,
		},
	}}
	node.Spec.PodCIDR, node.Spec.ProviderID = fmt.Sprintf("10.%d.%d.0/24", i>>8&255, i&255), fmt.Sprintf("aws:///eu-central-1a/i-%017x", i)
	node.Spec.Taints = []corev1.Taint{{Key: "general", Value: "yes", Effect: corev1.TaintEffectNoSchedule}}
	for image := range 40 {
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names:     []string{fmt.Sprintf("602401143452.dkr.ecr.eu-central-1.amazonaws.com/image-%02d@sha256:%064x", image, image)},
			SizeBytes: 123456789,
		})
	}
	for _, kind := range []corev1.NodeConditionType{"MemoryPressure", "DiskPressure", "PIDPressure", corev1.NodeReady, "NetworkUnavailable"} {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: kind, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
			Reason: "KubeletIsReportingIt", Message: "kubelet is posting what it finds",
		})
	}
	node.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("65165724Ki"), corev1.ResourcePods: resource.MustParse("234")}
	node.Status.Allocatable = node.Status.Capacity.DeepCopy()
	node.Status.NodeInfo = corev1.NodeSystemInfo{MachineID: "ec2f1e5f6d7a", KernelVersion: "6.1.102", OSImage: "Amazon Linux 2023", ContainerRuntimeVersion: "containerd://1.7.20", KubeletVersion: "v1.37.1"}
	node.ManagedFields = realisticOwners(node.Spec.PodCIDR)
	return node
}

// realisticOwners are those that the managed fields of a node of a cloud name.
func realisticOwners(podCIDR string) []metav1.ManagedFieldsEntry {
	manager := fmt.Sprintf(`{"f:metadata":{"f:annotations":{"f:node.alpha.kubernetes.io/ttl":{}}},"f:spec":{"f:podCIDR":{},"f:podCIDRs":{".":{},"v:\"%s\"":{}}}}`, podCIDR)
	const (
		kubelet = `{"f:metadata":{"f:annotations":{".":{},"f:alpha.kubernetes.io/provided-node-ip":{},"f:csi.volume.kubernetes.io/nodeid":{},"f:volumes.kubernetes.io/controller-managed-attach-detach":{}},"f:labels":{".":{},"f:beta.kubernetes.io/arch":{},"f:beta.kubernetes.io/os":{},"f:kubernetes.io/arch":{},"f:kubernetes.io/hostname":{},"f:kubernetes.io/os":{},"f:node-role.kubernetes.io/general":{},"f:topology.ebs.csi.aws.com/zone":{}}},"f:spec":{"f:providerID":{}}}`
		cloud   = `{"f:metadata":{"f:labels":{"f:beta.kubernetes.io/instance-type":{},"f:failure-domain.beta.kubernetes.io/region":{},"f:failure-domain.beta.kubernetes.io/zone":{},"f:k8s.io/cloud-provider-aws":{},"f:node.kubernetes.io/instance-type":{},"f:topology.kubernetes.io/region":{},"f:topology.kubernetes.io/zone":{}}}}`
		calico  = `{"f:metadata":{"f:annotations":{"f:projectcalico.org/IPv4Address":{},"f:projectcalico.org/IPv4IPIPTunnelAddr":{}}}}`
		network = `{"f:status":{"f:conditions":{"k:{\"type\":\"NetworkUnavailable\"}":{".":{},"f:lastHeartbeatTime":{},"f:lastTransitionTime":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}}}}`
		status  = `{"f:status":{"f:addresses":{"k:{\"type\":\"Hostname\"}":{".":{},"f:address":{},"f:type":{}},"k:{\"type\":\"InternalDNS\"}":{".":{},"f:address":{},"f:type":{}},"k:{\"type\":\"InternalIP\"}":{".":{},"f:address":{},"f:type":{}}},"f:allocatable":{"f:cpu":{},"f:memory":{},"f:pods":{}},"f:capacity":{"f:cpu":{},"f:memory":{},"f:pods":{}},"f:conditions":{"k:{\"type\":\"DiskPressure\"}":{"f:lastHeartbeatTime":{},"f:lastTransitionTime":{},"f:message":{},"f:reason":{},"f:status":{}},"k:{\"type\":\"MemoryPressure\"}":{"f:lastHeartbeatTime":{},"f:lastTransitionTime":{},"f:message":{},"f:reason":{},"f:status":{}},"k:{\"type\":\"PIDPressure\"}":{"f:lastHeartbeatTime":{},"f:lastTransitionTime":{},"f:message":{},"f:reason":{},"f:status":{}},"k:{\"type\":\"Ready\"}":{"f:lastHeartbeatTime":{},"f:lastTransitionTime":{},"f:message":{},"f:reason":{},"f:status":{}}},"f:images":{},"f:nodeInfo":{"f:kernelVersion":{},"f:kubeletVersion":{}}}}`
		ours    = `{"f:metadata":{"f:annotations":{"f:nodes.lailin.xyz/applied":{}},"f:labels":{"f:tier":{}}},"f:spec":{"f:taints":{}}}`
		team    = `{"f:metadata":{"f:labels":{"f:team":{}}}}`
	)
	now := metav1.Now()
	entry := func(name string, operation metav1.ManagedFieldsOperationType, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: name, Operation: operation, APIVersion: "v1", Time: &now, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(fields), Subresource: subresource,
		}
	}
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	return []metav1.ManagedFieldsEntry{
		entry(v1.FieldManager, apply, "", ours), entry("kubelet", update, "", kubelet), entry("aws-cloud-controller-manager", update, "", cloud),
		entry("kube-controller-manager", update, "", manager), entry("kubectl-label", update, "", team),
		entry("calico-node", update, "status", calico), entry("calico-node", update, "status", network), entry("kubelet", update, "status", status),
	}
}
