package adopt

import "testing"

func TestLabelOwner(t *testing.T) {
	cases := map[string]struct {
		reason, key string
		setBy       []string
		want        string
	}{
		"kubectl":              {"a person", "team", []string{"kubectl-label"}, ""},
		"kubectl, Kubernetes":  {"a person, whatever the domain", "kubernetes.io/role", []string{"kubectl-edit"}, ""},
		"client library":       {"a script", "k8s.io/x", []string{"OpenAPI-Generator"}, ""},
		"kubelet":              {"the node brings it with it", "team", []string{"kubelet"}, "set by kubelet"},
		"one of two":           {"a program keeps it as well", "team", []string{"kubectl", "nfd-master"}, "set by nfd-master"},
		"cloud":                {"a program of the cluster", "team", []string{"aws-cloud-controller-manager"}, "set by aws-cloud-controller-manager"},
		"GitOps":               {"it would put it back", "team", []string{"kustomize-controller"}, "set by kustomize-controller"},
		"GitOps of charts":     {"a tool of people in its name makes it none", "team", []string{"helm-controller"}, "set by helm-controller"},
		"operator of scripts":  {"the same", "team", []string{"ansible-operator"}, "set by ansible-operator"},
		"default name":         {"what controllers are called by default", "team", []string{"manager"}, "set by manager"},
		"installer":            {"it is set when a node joins", "team", []string{"kubeadm"}, "set by kubeadm"},
		"unknown name":         {"somebody's script", "team", []string{"fleetctl"}, ""},
		"unknown, their key":   {"somebody sets a key of Kubernetes", "storage.k8s.io/fast", []string{"fleetctl"}, "in a domain of Kubernetes"},
		"nobody":               {"no domain names an owner", "team", nil, ""},
		"nobody, Kubernetes":   {"by its domain", "beta.kubernetes.io/os", nil, "in a domain of Kubernetes"},
		"nobody, protected":    {"people set these", "node-restriction.kubernetes.io/tenant", nil, ""},
		"nobody, also within":  {"people set these", "a.node-restriction.kubernetes.io/tenant", nil, ""},
		"nobody, NFD":          {"by its domain", "feature.node.kubernetes.io/cpu", nil, "in a domain of Kubernetes"},
		"nobody, AWS":          {"by its domain", "eks.amazonaws.com/nodegroup", nil, "in a domain of AWS"},
		"nobody, not AWS":      {"a domain that ends alike is another", "notamazonaws.com/x", nil, ""},
		"nobody, GPU operator": {"by its domain", "nvidia.com/gpu.product", nil, "in a domain of NVIDIA's operators"},
		"nobody, AKS":          {"a cloud without a domain", "agentpool", nil, "a label of Azure"},
	}
	for name, c := range cases {
		if got := labelOwner(c.key, c.setBy); got != c.want {
			t.Errorf("%s: %s set by %v is %q, want %q: %s", name, c.key, c.setBy, got, c.want, c.reason)
		}
	}
}

func TestTaintOwner(t *testing.T) {
	cases := map[string]struct {
		reason, key string
		setBy       []string
		want        string
	}{
		"kubectl":          {"a person", "dedicated", []string{"kubectl-taint"}, ""},
		"another since":    {"who changed the list last did not put all of it there", "dedicated", []string{"kube-controller-manager"}, ""},
		"kubelet alone":    {"the node was made with it", "dedicated", []string{"kubelet"}, "set by kubelet"},
		"kubelet and more": {"the owner is not known", "dedicated", []string{"kubectl-taint", "kubelet"}, ""},
		"GPU":              {"people set the taint of which a program sets the label", "nvidia.com/gpu", nil, ""},
		"Cilium":           {"by its domain, whoever wrote last", "node.cilium.io/agent-not-ready", []string{"kubectl-taint"}, "in a domain of Cilium"},
		"CSI":              {"by its domain", "ebs.csi.aws.com/agent-not-ready", nil, "in a domain of AWS"},
	}
	for name, c := range cases {
		if got := taintOwner(c.key, c.setBy); got != c.want {
			t.Errorf("%s: %s set by %v is %q, want %q: %s", name, c.key, c.setBy, got, c.want, c.reason)
		}
	}
}
