package examples

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/api/crds"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/testdata/cluster"
)

func TestMain(m *testing.M) {
	definitions, err := crds.All()
	if err != nil {
		panic(err)
	}
	cluster.Main(m, cluster.Options{CRDs: definitions})
}

func TestEveryRepositoryExpands(t *testing.T) {
	for _, folder := range repositories(t) {
		t.Run(folder, func(t *testing.T) {
			expansion, names := expand(t, folder)
			if len(names) == 0 {
				t.Fatal("there is no pool in it")
			}
			for _, name := range names {
				if err := expansion.Problem(name); err != nil {
					t.Errorf("pool %s: %v", name, err)
				}
				if policy := folder == "rollout" && name == "fleet"; (expansion.RuntimeClass(name) == nil) != policy {
					t.Errorf("pool %s is a rollout policy: %t, and has the RuntimeClass %v", name, policy, expansion.RuntimeClass(name))
				}
			}
		})
	}
}

func TestTheAPIServerTakesEveryManifest(t *testing.T) {
	c := cluster.Shared(t)
	for _, path := range append(repositories(t), "source.yaml") {
		if _, err := c.Kubectl(t.Context(), "apply", "--dry-run=server", "--recursive", "-f", path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// What the comments in layers say of the pools of each cluster.
func TestLayersOfEachCluster(t *testing.T) {
	taint := func(key, value string) v1.Taint {
		return v1.Taint{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule}
	}
	batch := v1.NodePoolSpec{NodeNames: []string{"batch-*"}, Taints: []v1.Taint{taint("batch", "")}}
	for _, c := range []struct {
		layers []string
		want   map[string]v1.NodePoolSpec
	}{
		{[]string{"base", "regions/eu", "clusters/prod-1"}, map[string]v1.NodePoolSpec{
			"batch": batch,
			"gpu": {
				Selector: &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"example.com/accelerator": "h100"}},
				Labels:   map[string]v1.LabelValue{"example.com/tier": "gold", "example.com/region": "eu"},
				Taints:   []v1.Taint{taint("gpu", "h100"), taint("dedicated", "training")},
				Handler:  "nvidia",
			},
			"ingress": {NodeNames: []string{"edge-*"}},
		}},
		{[]string{"base", "clusters/prod-2"}, map[string]v1.NodePoolSpec{
			"gpu": {Selector: &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"example.com/accelerator": "a100"}}},
		}},
	} {
		definitions, err := render.Load(os.DirFS("layers"), c.layers...)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]v1.NodePoolSpec{}
		for _, definition := range definitions {
			got[definition.Pool.Name] = definition.Pool.Spec
		}
		if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.layers, diff)
		}
	}
}

// What the comments in quickstart and its README say about who is where.
func TestQuickstartMembers(t *testing.T) {
	expansion, _ := expand(t, "quickstart")
	tests := []struct {
		reason string
		node   string
		labels map[string]string
		want   []string
	}{
		{"the role label makes a member", "cp-1", map[string]string{"node-role.kubernetes.io/master": ""}, []string{"master"}},
		{"the role label has to be empty", "cp-1", map[string]string{"node-role.kubernetes.io/master": "yes"}, []string{}},
		{"a name pattern makes a member", "worker-03", nil, []string{"general"}},
		{"a node may be in two pools", "worker-01", nil, []string{"canary", "general"}},
		{"? stands for one character", "edge-10", nil, []string{}},
		{"a selector makes a member", "gpu-1", map[string]string{"example.com/accelerator": "a100"}, []string{"gpu"}},
		{"the inner pool is within the outer", "gpu-3", map[string]string{"example.com/accelerator": "h100"}, []string{"gpu", "training"}},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			if diff := cmp.Diff(test.want, expansion.Node(test.node, test.labels).Pools); diff != "" {
				t.Errorf("pools of %s (-want +got):\n%s", test.node, diff)
			}
		})
	}
	if got := expansion.Node("worker-01", nil).Labels["example.com/os-channel"].Value; got != "beta" {
		t.Errorf("os-channel of worker-01 is %q; the pool of the higher priority says beta", got)
	}
}

func TestQuickstartMaster(t *testing.T) {
	expansion, _ := expand(t, "quickstart")
	want := &nodev1.RuntimeClass{
		Handler: "runc",
		Scheduling: &nodev1.Scheduling{
			NodeSelector: map[string]string{"node-pool.lailin.xyz/master": "8", "node-pool.lailin.xyz/test": "2", "node-role.kubernetes.io/master": ""},
			Tolerations: []corev1.Toleration{{
				Key: "node-pool.lailin.xyz", Operator: corev1.TolerationOpEqual, Value: "master", Effect: corev1.TaintEffectNoSchedule,
			}},
		},
	}
	want.APIVersion, want.Kind, want.Name = "node.k8s.io/v1", "RuntimeClass", "node-pool-master"
	if diff := cmp.Diff(want, expansion.RuntimeClass("master")); diff != "" {
		t.Errorf("RuntimeClass of master (-want +got):\n%s", diff)
	}
}

// Nothing in tenants depends on what a kubelet may set on its own node.
func TestTenantsAreWalls(t *testing.T) {
	definitions, err := render.Load(os.DirFS("tenants"))
	if err != nil {
		t.Fatal(err)
	}
	for _, definition := range definitions {
		pool := definition.Pool
		if keys, patterns, open := render.SelfJoinKeys(pool), render.SelfJoinPatterns(pool), render.OpenLabels(pool); len(keys)+len(patterns)+len(open) > 0 {
			t.Errorf("pool %s: selector %v, patterns %v, labels %v", pool.Name, keys, patterns, open)
		}
		if len(definition.Warnings) > 0 {
			t.Errorf("validate warns: %v", definition.Warnings)
		}
	}
}

func TestPodNamesAPool(t *testing.T) {
	data, err := os.ReadFile("pod.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var pod corev1.Pod
	if err := yaml.UnmarshalStrict(data, &pod); err != nil {
		t.Fatal(err)
	}
	expansion, names := expand(t, "quickstart")
	for _, name := range names {
		if class := expansion.RuntimeClass(name); class.Name == *pod.Spec.RuntimeClassName {
			return
		}
	}
	t.Errorf("no pool of quickstart has the RuntimeClass %s", *pod.Spec.RuntimeClassName)
}

// repositories are the folders with pools beside this file.
func repositories(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, file := range files {
		if folder := filepath.Dir(file); folder != "ci" && folder != "delivery" && folder != "layers" && folder != "monitoring" { // for other programs, and in layers
			folders = append(folders, folder)
		}
	}
	if len(folders) == 0 {
		t.Fatal("there is no folder with a README.md")
	}
	return folders
}

// expand loads a folder and works it out as the controller does.
func expand(t *testing.T, folder string) (*render.Expansion, []string) {
	t.Helper()
	definitions, err := render.Load(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	var pools []*v1.NodePool
	var names []string
	for _, definition := range definitions {
		pools, names = append(pools, definition.Pool), append(names, definition.Pool.Name)
	}
	return render.Expand(pools), names
}
