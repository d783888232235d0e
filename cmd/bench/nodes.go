package main

import (
	"crypto/sha256"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A node is as large as nodes of a real cluster, with the images that a kubelet lists: the
// costs of the API server, of watches and of memory follow its bytes.

const nodeImages = 50

// labels that the node comes with.
func (m *member) labels() map[string]string {
	return map[string]string{
		"beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux",
		"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": m.name,
		"node.kubernetes.io/instance-type": "m7i.4xlarge",
		"topology.kubernetes.io/region":    "eu-central-1",
		"topology.kubernetes.io/zone":      "eu-central-1" + string("abc"[m.index%3]),
		groupLabel:                         groupOf(m.pools[0]),
		"rack.example.com/name":            fmt.Sprintf("r%02d", m.index%40),
	}
}

// taints that others have put on the node: every tenth has one that must stay, and
// so does one that has only just joined.
func (m *member) taints() []corev1.Taint {
	var taints []corev1.Taint
	if m.index%10 == 0 {
		taints = append(taints, corev1.Taint{Key: "maintenance.example.com/window", Value: "sunday", Effect: corev1.TaintEffectNoSchedule})
	}
	if m.joins {
		taints = append(taints, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
	}
	return taints
}

// registration is the node as its kubelet creates it.
func (m *member) registration() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.name, Labels: m.labels(),
			Annotations: map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
		},
		Spec: corev1.NodeSpec{ProviderID: fmt.Sprintf("example:///eu-central-1/%s/i-%017x", m.name, m.index), Taints: m.taints()},
	}
}

// podCIDR that the node gets from the controller-manager.
func (m *member) podCIDR() string {
	return fmt.Sprintf("10.%d.%d.0/24", 64+m.index/256, m.index%256)
}

// status is what the kubelet writes about the node.
func (m *member) status(now time.Time) corev1.NodeStatus {
	resources := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("64893484Ki"),
		corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("104845292Ki"),
		"hugepages-1Gi": resource.MustParse("0"), "hugepages-2Mi": resource.MustParse("0"),
	}
	id := sha256.Sum256([]byte(m.name))
	return corev1.NodeStatus{
		Capacity: resources, Allocatable: resources,
		Conditions: m.conditions(now),
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.32.%d.%d", m.index/250, m.index%250+1)},
			{Type: corev1.NodeInternalDNS, Address: m.name + ".eu-central-1.compute.internal"},
			{Type: corev1.NodeHostName, Address: m.name},
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: fmt.Sprintf("%x", id[:16]), SystemUUID: fmt.Sprintf("%x-%x", id[:4], id[4:10]), BootID: fmt.Sprintf("%x", id[16:]),
			KernelVersion: "6.8.0-1021-aws", OSImage: "Ubuntu 24.04.2 LTS", ContainerRuntimeVersion: "containerd://2.1.4",
			KubeletVersion: "v1.37.1", OperatingSystem: "linux", Architecture: "amd64",
		},
		Images: m.images(),
	}
}

func (m *member) conditions(now time.Time) (conditions []corev1.NodeCondition) {
	for _, c := range [][3]string{
		{"MemoryPressure", "False", "KubeletHasSufficientMemory"}, {"DiskPressure", "False", "KubeletHasNoDiskPressure"},
		{"PIDPressure", "False", "KubeletHasSufficientPID"}, {"Ready", "True", "KubeletReady"},
	} {
		conditions = append(conditions, corev1.NodeCondition{
			Type: corev1.NodeConditionType(c[0]), Status: corev1.ConditionStatus(c[1]), Reason: c[2], Message: "the kubelet reports " + c[2],
			LastHeartbeatTime: metav1.NewTime(now), LastTransitionTime: metav1.Unix(1_600_000_000, 0),
		})
	}
	return conditions
}

// images on the node, by digest and by tag. The nodes do not all run the same.
func (m *member) images() []corev1.ContainerImage {
	images := make([]corev1.ContainerImage, nodeImages)
	for i := range images {
		kind := (m.index + i) % (3 * nodeImages)
		repository := fmt.Sprintf("registry.example.com/platform/service-%03d", kind)
		images[i] = corev1.ContainerImage{
			Names: []string{
				fmt.Sprintf("%s@sha256:%x", repository, sha256.Sum256([]byte(repository))),
				fmt.Sprintf("%s:v1.%d.%d", repository, kind%30, kind%7),
			},
			SizeBytes: int64(900-10*i) * 1_000_003,
		}
	}
	return images
}
