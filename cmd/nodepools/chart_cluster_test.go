package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/testdata/charts"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// allOptions are the values by which the chart has more objects. There is no ServiceMonitor:
// an API server knows that kind where the Prometheus Operator is installed, and no other.
const allOptions = "webhook.enabled=true,rollout.enabled=true,viewer.enabled=true,networkPolicy.enabled=true,podDisruptionBudget.enabled=true"

// The whole life of a release with all that the chart has, on a real API server, with the
// controller at work by the rights that the chart gives.
func TestChartInACluster(t *testing.T) {
	cluster.Long(t)
	r := newRelease(t)
	r.run("install", chartFolder, "--create-namespace", "--set", allOptions)
	released := r.manifest()
	r.expectReleased(released, always)
	for _, key := range []string{"Service nodepools-webhook", "ClusterRoleBinding nodepools-rollout", "ServiceAccount nodepools-viewer", "NetworkPolicy nodepools", "PodDisruptionBudget nodepools"} {
		if charts.Objects(t, released)[key] == nil {
			t.Errorf("the release has no %s", key)
		}
	}
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "edge"}, Spec: v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"example.com/edge": "1"}}}
	cluster.Eventually(t, "pools are served", waitTimeout, func() error { return r.api.Create(t.Context(), pool) })
	_, kubeconfig, err := r.c.ServiceAccount(t.Context(), manifests.DefaultNamespace, manifests.Name)
	r.do(err)
	stop := startRun(t, kubeconfig, "--leader-elect", "--leader-election-namespace", manifests.DefaultNamespace)
	node := r.joins("n1")

	r.run("upgrade", changedChart(t))
	r.expectField(true)
	r.expectReleased(released, always)
	r.run("rollback", "1")
	r.expectField(false)
	r.expectReleased(released, always)
	// The controller works on, and what it has done it has not done again.
	r.joins("n2")
	version := node.ResourceVersion
	r.do(r.api.Get(t.Context(), client.ObjectKeyFromObject(node), node))
	if node.ResourceVersion != version {
		t.Errorf("a node was written while the release changed: %v", node.ManagedFields)
	}

	// What Helm has installed is Helm's to remove.
	commands := stepCommands(t, r.c)
	if !slices.Contains(commands, "helm uninstall nodepools --namespace "+manifests.DefaultNamespace) || slices.ContainsFunc(commands, removesAll) {
		t.Errorf("the steps to uninstall are not by helm: %q", commands)
	}

	// The release takes the rights of the controller with it, and in a cluster its pod.
	stop()
	r.run("uninstall")
	r.expectReleased(released, stays)
	uid := pool.UID
	if err := r.api.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil || pool.UID != uid || !pool.DeletionTimestamp.IsZero() {
		t.Errorf("the pool does not stay: %v, deleted %v", err, pool.DeletionTimestamp)
	}
	r.takesUp()
}

// stepCommands are the commands by which nodepools is uninstalled from a cluster.
func stepCommands(t *testing.T, c *cluster.Cluster) (commands []string) {
	t.Helper()
	plan, _ := planned(t, c)
	for _, step := range plan.Steps {
		commands = append(commands, step.Command)
	}
	return commands
}

// removesAll reports whether a command deletes what nodepools install prints.
func removesAll(command string) bool {
	return strings.HasPrefix(command, "nodepools install --rollout")
}

// takesUp has what stays of a release, and what others have made, be there before one.
func (r *release) takesUp() {
	r.t.Helper()
	r.run("install", chartFolder)
	released := r.manifest()
	r.expectReleased(released, always)

	// Nor does it go when it is no longer to be part of the release.
	r.run("upgrade", chartFolder, "--set", "namespace.create=false,crds.enabled=false")
	r.expectReleased(released, always)

	// What install has applied is taken over, and a namespace that is there already is
	// left to who made it.
	r.run("uninstall")
	install(r.t, r.c)
	r.run("install", chartFolder, "--take-ownership", "--force-conflicts")
	r.expectReleased(released, always)
	_, err := r.c.Kubectl(r.t.Context(), "create", "namespace", "made-before")
	r.do(err)
	r.run("uninstall")
	if _, err := r.helm.Run(r.t.Context(), "install", "nodepools", chartFolder, "--namespace", "made-before"); err == nil || !strings.Contains(err.Error(), "made-before") {
		r.t.Errorf("the namespace of somebody else is taken: %v", err)
	}
	r.helm.Must(r.t, "install", "nodepools", chartFolder, "--namespace", "made-before", "--set", "namespace.create=false,crds.enabled=false")
}

func always(string) bool { return true }

func stays(kind string) bool { return kind == "CustomResourceDefinition" || kind == "Namespace" }

// release is one of the chart, in a cluster of its own.
type release struct {
	t    *testing.T
	c    *cluster.Cluster
	helm *charts.Helm
	api  client.Client
}

func newRelease(t *testing.T) *release {
	t.Helper()
	c := cluster.New(t, cluster.Options{})
	scheme, err := controller.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	api, err := client.New(c.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return &release{t, c, charts.New(t, c.Kubeconfig()), api}
}

func (r *release) do(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *release) run(verb string, args ...string) {
	r.t.Helper()
	r.helm.Must(r.t, append([]string{verb, "nodepools", "--namespace", manifests.DefaultNamespace}, args...)...)
}

// manifest is what Helm has applied.
func (r *release) manifest() string {
	r.t.Helper()
	return r.helm.Must(r.t, "get", "manifest", "nodepools", "--namespace", manifests.DefaultNamespace)
}

// joins makes a node of the pool edge, and returns it when it has the label of the pool.
func (r *release) joins(name string) *corev1.Node {
	r.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.RoleLabel("edge"): ""}}}
	r.do(r.api.Create(r.t.Context(), node))
	cluster.Eventually(r.t, "the node has the label of its pool", waitTimeout, func() error {
		if err := r.api.Get(context.Background(), client.ObjectKeyFromObject(node), node); err != nil {
			return err
		}
		if node.Labels["example.com/edge"] != "1" {
			return fmt.Errorf("labels are %v", node.Labels)
		}
		return nil
	})
	return node
}

// expectReleased fails unless those objects of a release are in the cluster that are
// meant to be, and no others.
func (r *release) expectReleased(manifest string, meant func(kind string) bool) {
	r.t.Helper()
	file := filepath.Join(r.t.TempDir(), "manifest.yaml")
	r.do(os.WriteFile(file, []byte(manifest), 0o600))
	output, err := r.c.Kubectl(r.t.Context(), "get", "--filename", file, "--ignore-not-found", "--output", "name")
	r.do(err)
	present := strings.Fields(output)
	for key, object := range charts.Objects(r.t, manifest) {
		name := strings.ToLower(object.GroupVersionKind().GroupKind().String()) + "/" + object.GetName()
		if is := slices.Contains(present, name); is != meant(object.GetKind()) {
			r.t.Errorf("%s is in the cluster: %t", key, is)
		}
	}
	if len(present) == 0 {
		r.t.Errorf("nothing of the release is in the cluster:\n%s", manifest)
	}
}

// changedField is one that the schema of pools gets by an upgrade.
const changedField = "addedByALaterVersion"

// changedChart is a later version of the chart, with another field in the schema.
func changedChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "nodepools")
	if err := os.CopyFS(dir, os.DirFS(chartFolder)); err != nil {
		t.Fatal(err)
	}
	for file, change := range map[string][2]string{
		"Chart.yaml":          {"version: 0.0.0-devel", "version: 0.0.1"},
		"templates/crds.yaml": {"              annotations:\n", "              " + changedField + ":\n                type: string\n              annotations:\n"},
	} {
		path := filepath.Join(dir, file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(text), change[0], change[1], 1)
		if changed == string(text) {
			t.Fatalf("%s has no %q", file, change[0])
		}
		if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (r *release) expectField(want bool) {
	r.t.Helper()
	output, err := r.c.Kubectl(r.t.Context(), "get", "crd", "nodepools.nodes.lailin.xyz", "--output", "json")
	r.do(err)
	if !json.Valid([]byte(output)) || strings.Contains(output, `"`+changedField+`"`) != want {
		r.t.Errorf("the schema of the cluster has %s: %t, want %t", changedField, !want, want)
	}
}
