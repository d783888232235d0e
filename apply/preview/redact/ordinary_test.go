package redact

import "testing"

// ordinary are keys and values as clusters have them, none of which is a secret.
var ordinary = []struct{ key, value string }{
	{"kubernetes.io/hostname", "gpu-1.internal.example.com"},
	{"node.kubernetes.io/instance-type", "m5.2xlarge"},
	{"topology.kubernetes.io/zone", "eu-west-1a"},
	{"node-pool.lailin.xyz/master", "8"},
	{"provider-id", "aws:///eu-west-1a/i-0abcdef1234567890"},
	{"cluster.x-k8s.io/machine", "workers-md-0-7d9f8b6c5d-x2x4z"},
	{"cluster.x-k8s.io/cluster-name", "production"},
	{"machinedeployment.clusters.x-k8s.io/revision-hash", "2781562033"},
	{"machine-template-hash", "578c8f9d5b"},
	{"controller-uid", "6a3f0d1e-8a0a-4b67-9a2f-2f0d6c7b8e9a"},
	{"example.com/commit", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
	{"nodes.lailin.xyz/revision", "main@sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709"},
	{"example.com/image", "registry.example.com:5000/team/app:v1.2.3@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	{"example.com/checksum", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	{"example.com/checksum", "sha256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="},
	{"cni.projectcalico.org/containerID", "0f2c4e8a9d1b3f5e7a6c8d0b2e4f6a8c0d2e4f6a8b0c2d4e6f8a0b2c4d6e8f0a"},
	{"projectcalico.org/IPv4Address", "10.0.0.4/24"},
	{"flannel.alpha.coreos.com/backend-data", `{"VNI":1,"VtepMAC":"8a:da:f1:11:0f:a1"}`},
	{"csi.volume.kubernetes.io/nodeid", `{"ebs.csi.aws.com":"i-0abcdef1234567890","secrets-store.csi.k8s.io":"gpu-1"}`},
	{"kubeadm.alpha.kubernetes.io/cri-socket", "unix:///run/containerd/containerd.sock"},
	{"volumes.kubernetes.io/controller-managed-attach-detach", "true"},
	{"k3s.io/node-args", `["server","--token","********","--disable","traefik","--kube-apiserver-arg","service-account-key-file=/etc/x"]`},
	{"k3s.io/node-env", `{"K3S_TOKEN":"********","K3S_URL":"https://10.0.0.1:6443"}`},
	{"k3s.io/node-config-hash", "MLFMUCBMRVINLJJKSG32TOUFWB4CN55GMSNY25AZPESQXZCYRN2A===="},
	{"machineconfiguration.openshift.io/currentConfig", "rendered-worker-0123456789abcdef0123456789abcdef"},
	{"secrets-store.csi.k8s.io/driver", "vault"},
	{"example.com/secret-name", "db-credentials"},
	{"example.com/token-path", "/var/run/secrets/tokens/x"},
	{"token-refresh/enabled", "true"},
	{"token-refresh", "5m"},
	{"max-tokens", "8"},
	{"example.com/mount-token", "True"},
	{"automountServiceAccountToken", "false"},
	{"kubernetes.io/nontoken", "x"},
	{"monkey", "x"},
	{"author", "Ann Smith <ann@example.com>"},
	{"authority", "example.com"},
	{"example.com/auth", "oidc"},
	{"example.com/authenticated", "yes"},
	{"compass", "north"},
	{"bypass", "proxy"},
	{"keyboard", "qwerty"},
	{"public-key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHJlIGlzIG5vdGhpbmcgaGVyZSB0byBzZWU me@example.com"},
	{"ssh-key-name", "admin-2024"},
	{"kms-key-id", "arn:aws:kms:eu-west-1:123456789012:key/0a1b2c3d-4e5f-6a7b-8c9d-0a1b2c3d4e5f"},
	{"role-arn", "arn:aws:iam::123456789012:role/workers"},
	{"certificate", "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUTW9zdGx5IGhhcm1sZXNz\n-----END CERTIFICATE-----"},
	{"home", "https://example.com/x?a=b"},
	{"repository", "ssh://git@github.com/team/repository.git"},
	{"repository", "git@github.com:team/repository.git"},
	{"package", "https://registry.npmjs.org:443/@scope/package"},
	{"profile", "https://medium.example.com/@someone"},
	{"contact", "owner:ann@example.com,team:nodes"},
	{"contact", "mailto:ann@example.com"},
	{"description", "rotates the token and the password daily; basic configuration, bearer certificates"},
	{"description", "token-refresh: 5m, tokens=8, --token-ttl 5m --password-file /etc/x"},
	{"config", "user: me\nport: 80\ntimeout: 5s\n"},
	{"config", `{"user":"me","port":80,"automountServiceAccountToken":false,"token":null,"password":""}`},
	{"config", "token:\n  enabled: false\nport: 80\n"},
	{"config", "{\n  \"token\": {\n    \"enabled\": false\n  }\n}"},
	{"config", "password: ${DB_PASSWORD}\ntoken: \"***\"\n"},
	{"config", "password:\nuser: me\n"},
	{"time", "2026-11-22T21:43:02Z"},
	{"volume", "pvc-6a3f0d1e-8a0a-4b67-9a2f-2f0d6c7b8e9a"},
	{"resource", "/subscriptions/0a1b2c3d-4e5f-6a7b-8c9d-0a1b2c3d4e5f/resourceGroups/x/providers/Microsoft.Compute/virtualMachines/gpu-1"},
	{"instance", "https://www.googleapis.com/compute/v1/projects/x/zones/europe-west1-b/instances/gpu-1"},
	{"version", "v1.37.1+k3s1"},
	{"kernel", "6.8.0-1021-aws"},
	{"feature.node.kubernetes.io/cpu-cpuid.AESNI", "true"},
	{"nfd.node.kubernetes.io/feature-labels", "cpu-cpuid.ADX,cpu-cpuid.AESNI,cpu-hardware_multithreading,kernel-version.full,pci-10de.present"},
	{"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"},
	{"example.com/base64", "aGVsbG8gd29ybGQsIHRoaXMgaXMgcGxhaW4gdGV4dA=="},
	{"npm", "npm_config_registry"}, {"pypi", "pypi-mirror"}, {"keys", "a,b,c"}, {"hash", "key-value"},
	{"lease", "abcdef.internalclusters"},
	{"nodes.lailin.xyz/applied", `{"version":1,"labels":{"node-role.kubernetes.io/gpu":{"pool":"gpu"}},"taints":[{"key":"dedicated","effect":"NoSchedule","pool":"gpu"}]}`},
	{"selector", "app in (a, b), tier != gold"},
	{"token", ""}, {"token", "***"}, {"token", "*** (before)"}, {"password", "{{ .Values.password }}"},
}

// Ordinary values are shown: nobody reads a review in which they are masked.
func TestOrdinaryValuesAreShown(t *testing.T) {
	for _, each := range ordinary {
		if Secret(each.key, each.value) {
			t.Errorf("%s=%q is taken for a secret", each.key, each.value)
		}
		if text := Text(each.value); text != each.value {
			t.Errorf("%q became %q", each.value, text)
		}
	}
}
