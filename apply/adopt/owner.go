package adopt

import (
	"slices"
	"strings"

	"github.com/nodepools/nodepools/apply/plan"
)

// labelOwner returns the owner of a label that no pool should have, by the
// field managers that set it and else by its domain; empty where it is a
// person's or a script's.
func labelOwner(key string, setBy []string) string {
	if at := slices.IndexFunc(setBy, isController); at >= 0 {
		return "set by " + setBy[at]
	}
	if len(setBy) > 0 && !slices.ContainsFunc(setBy, func(manager string) bool { return !isPerson(manager) }) {
		return ""
	}
	return domainOwner(plan.Label, key)
}

// taintOwner is the same of a taint. Taints are one list, of which managed fields
// only have who changed it last. A node brings its first ones with it, so where
// that was its kubelet alone, all are what it was made with.
func taintOwner(key string, setBy []string) string {
	if len(setBy) == 1 && setBy[0] == "kubelet" {
		return "set by kubelet"
	}
	return domainOwner(plan.Taint, key)
}

// people are field managers by which people and their scripts write, as they begin:
// what the tools call themselves, and the default names of client libraries.
var people = []string{
	"kubectl", "oc", "k9s", "helm", "Lens", "Mozilla", // by hand
	"ansible", "HashiCorp", "Terraform", "terraform-provider", "pulumi",
	"curl", "wget", "python-requests", "OpenAPI-Generator", "Swagger-Codegen", "node-fetch", "axios", "Go-http-client", "okhttp",
}

// isPerson reports whether a field manager is one of people and their scripts.
func isPerson(manager string) bool {
	return slices.ContainsFunc(people, func(name string) bool {
		rest, found := strings.CutPrefix(manager, name)
		return found && (rest == "" || strings.ContainsAny(rest[:1], "-/_. "))
	})
}

// controllerWords are in the names of programs that enforce what they have set,
// and installers are those that set it when a node joins.
var (
	controllerWords = []string{
		"agent", "autoscaler", "controller", "daemon", "discovery", "karpenter", "kubelet",
		"manager", "operator", "plugin", "provisioner", "reconciler", "scheduler",
	}
	installers = []string{
		"cluster-api", "eksctl", "k0s", "k3s", "kops", "kubeadm", "kubespray", "microk8s", "minikube", "nfd-master", "nfd-worker", "rke", "rke2", "talosctl", "talos",
	}
)

// isController reports whether a field manager is a program that is part of a
// cluster. Managers choose their names, so this uses what the known ones have
// in common.
func isController(manager string) bool {
	lower := strings.ToLower(manager)
	return slices.Contains(installers, lower) ||
		slices.ContainsFunc(controllerWords, func(word string) bool { return strings.Contains(lower, word) })
}

// domains are those of clouds and controllers, and whose they are. A domain stands for
// those within it, too.
var domains = map[string]string{
	"amazonaws.com": "AWS", "aws.com": "AWS", "eksctl.io": "eksctl", "k8s.aws": "AWS", "aws-node-termination-handler": "AWS",
	"cloud.google.com": "Google Cloud", "gke.io": "Google Cloud",
	"azure.com":   "Azure",
	"alibaba.com": "Alibaba Cloud", "alibabacloud.com": "Alibaba Cloud", "aliyun.com": "Alibaba Cloud",
	"digitalocean.com": "DigitalOcean", "exoscale.net": "Exoscale", "gardener.cloud": "Gardener", "hetzner.cloud": "Hetzner",
	"huaweicloud.com": "Huawei Cloud", "ibm.com": "IBM Cloud", "linode.com": "Linode", "oraclecloud.com": "Oracle Cloud",
	"ovh.net": "OVHcloud", "scaleway.com": "Scaleway", "tencent.com": "Tencent Cloud", "vmware.com": "VMware", "vultr.com": "Vultr",
	"karpenter.sh": "Karpenter", "spotinst.io": "Spot Ocean", "cast.ai": "CAST AI",
	"cilium.io": "Cilium", "projectcalico.org": "Calico", "antrea.io": "Antrea",
	"cattle.io": "Rancher", "rancher.io": "Rancher", "k3s.io": "k3s", "rke2.io": "RKE2", "k0sproject.io": "k0s", "microk8s.io": "MicroK8s",
	"openshift.io": "OpenShift", "machineconfiguration.openshift.io": "OpenShift",
	"kubevirt.io": "KubeVirt", "x-k8s.io": "a project of Kubernetes",
}

// labelDomains are those in which programs set labels, and people taints.
var labelDomains = map[string]string{
	"nvidia.com": "NVIDIA's operators", "amd.com": "AMD's operators", "intel.com": "Intel's operators", "habana.ai": "Intel's operators",
}

// unprefixed are labels of clouds without a domain.
var unprefixed = map[string]string{"agentpool": "Azure", "storageprofile": "Azure", "storagetier": "Azure"}

// domainOwner returns the owner of a key by its domain.
func domainOwner(field plan.Field, key string) string {
	if plan.OwnerByDomain(field, key) != plan.OfOthers {
		return "in a domain of Kubernetes"
	}
	domain, _, prefixed := strings.Cut(key, "/")
	if !prefixed {
		if owner := unprefixed[key]; owner != "" && field == plan.Label {
			return "a label of " + owner
		}
		return ""
	}
	for rest, more := domain, true; more; _, rest, more = strings.Cut(rest, ".") {
		if owner := domains[rest]; owner != "" {
			return "in a domain of " + owner
		}
		if owner := labelDomains[rest]; owner != "" && field == plan.Label {
			return "in a domain of " + owner
		}
	}
	return ""
}
