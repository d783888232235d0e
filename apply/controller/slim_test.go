package controller

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// What a node takes in the cache, for nodes of the size of real ones. All of a
// cluster's nodes are in there, so who set what must cost little beside what is
// kept anyway.
func TestCachedNodeIsSmall(t *testing.T) {
	const count = 500
	size := len(asJSON(t, realisticNode(0)))
	if size < 12<<10 || size > 16<<10 {
		t.Fatalf("a node is %d bytes of JSON, want one of real size", size)
	}
	perNode := func(keep func(*corev1.Node)) int {
		before := heap()
		nodes := make([]*corev1.Node, count)
		for i := range nodes {
			node := &corev1.Node{}
			if err := json.Unmarshal(asJSON(t, realisticNode(i)), node); err != nil {
				t.Fatal(err)
			}
			keep(node)
			nodes[i] = node
		}
		used := heap() - before
		runtime.KeepAlive(nodes)
		return used / count
	}
	slimmed := func(node *corev1.Node) {
		if _, err := slim(node); err != nil {
			t.Fatal(err)
		}
	}
	whole := perNode(func(*corev1.Node) {})
	without := perNode(func(node *corev1.Node) { slimmed(node); node.ManagedFields = nil })
	with := perNode(slimmed)
	t.Logf("%d bytes of JSON; in memory %d whole, %d as cached, of which %d tell who set what", size, whole, with, with-without)
	if with > whole/4 {
		t.Errorf("a cached node takes %d bytes, and a whole one %d", with, whole)
	}
	if with-without > 600 {
		t.Errorf("who set what takes %d bytes of each node: what is equal is not shared", with-without)
	}
}

func heap() int {
	runtime.GC()
	runtime.GC() // what the first one has found unreachable
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

func asJSON(t *testing.T, object any) []byte {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What equal nodes share is one, and goes when the last of them goes.
func TestSharedOwnersGoWithTheirNodes(t *testing.T) {
	set := newOwnersSet()
	one := func(manager string) []metav1.ManagedFieldsEntry {
		return set.share([]metav1.ManagedFieldsEntry{
			{Manager: manager, FieldsV1: metav1.NewFieldsV1("first")}, {Manager: "second", FieldsV1: metav1.NewFieldsV1("second")},
		})
	}
	a, b, other := one("x"), one("x"), one("y")
	if &a[0] != &b[0] || &a[0] == &other[0] {
		t.Error("equal lists are not one, or different ones are")
	}
	if len(a) != 2 || a[0].Manager != "x" || a[0].FieldsV1.GetRawString() != "first" || a[1].FieldsV1.GetRawString() != "second" {
		t.Errorf("the list became %v", a)
	}
	left := func(want int) func() error {
		return func() error {
			runtime.GC()
			set.mu.Lock()
			defer set.mu.Unlock()
			if len(set.known) != want {
				return fmt.Errorf("there are %d, want %d", len(set.known), want)
			}
			return nil
		}
	}
	w := &world{t: t}
	runtime.KeepAlive(other)
	w.eventually("what nobody has any more is not kept, and what somebody has is", left(1))
	if again := one("x"); &again[0] != &b[0] {
		t.Error("a list that is still in use was forgotten")
	}
	runtime.KeepAlive(b)
	w.eventually("at last nothing is kept", left(0))
}

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
			v1.AppliedAnnotation:                                     `{"version":1,"labels":{"tier":{"pool":"general","value":"gold"}},"taints":{"general:NoSchedule":{"pool":"general","value":"yes"}}}`,
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
