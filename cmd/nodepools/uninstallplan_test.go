package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/apply/uninstall"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// The plan names what the controller has put on nodes, and its steps, run as they are
// printed while the controller runs, leave nothing there.
func TestUninstallPlanLeavesNothing(t *testing.T) {
	c := cluster.Shared(t)
	if err := reset(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	scheme, err := controller.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	api, err := client.New(c.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	role := map[string]string{"node-role.kubernetes.io/edge": ""}
	for _, object := range []client.Object{
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: role}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2", Labels: role}},
		&v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "edge"}, Spec: v1.NodePoolSpec{
			Labels: map[string]v1.LabelValue{"team": "ml"}, Taints: []v1.Taint{{Key: "edge", Value: "yes", Effect: corev1.TaintEffectNoSchedule}},
		}},
	} {
		if err := api.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	startRun(t, c.Kubeconfig())
	var plan uninstall.Plan
	cluster.Eventually(t, "both nodes carry what the pool says", waitTimeout, func() error {
		var code int
		if plan, code = planned(t, c); plan.Nodes != 2 || code != exitFailed {
			return fmt.Errorf("exit code %d, plan %+v", code, plan)
		}
		return nil
	})
	if got := plan.Pools[0]; got.Name != "edge" || !got.Exists || strings.Join(got.Labels, " ") != "team" || strings.Join(got.Taints, " ") != "edge:NoSchedule" {
		t.Errorf("the pool is %+v", got)
	}
	// What the plan takes away when the pools are being deleted: a pause, and a rollout by
	// which no node would ever be released.
	for _, args := range [][]string{
		{"annotate", "node", "n2", v1.ReconcileAnnotation + "=" + v1.Disabled},
		{"patch", "nodepools.nodes.lailin.xyz", "edge", "--type=merge", "--patch", `{"spec":{"rollout":{"paused":true,"maxUnavailable":0,` +
			`"exclusions":[{"start":"2020-01-01T00:00:00Z","end":"2100-01-01T00:00:00Z"}],` +
			`"waves":[{"name":"first","nodes":1,"approval":"Required"}]}}}`},
	} {
		if output, err := c.Kubectl(t.Context(), args...); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
	}
	plan, _ = planned(t, c)
	resumed := false
	for _, step := range plan.Steps {
		if strings.HasPrefix(step.Command, "nodepools ") {
			break // what is installed stays: the cluster is shared
		}
		resumed = resumed || strings.Contains(step.Command, "node n2 "+v1.ReconcileAnnotation+"-")
		command := strings.Replace(step.Command, "--timeout=10m", "--timeout=1m", 1)
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", command)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(), "KUBERC=off",
			"PATH="+filepath.Dir(c.Program("kubectl"))+string(os.PathListSeparator)+os.Getenv("PATH"))
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", step.Command, err, output)
		}
	}
	if !resumed {
		t.Errorf("no step resumes the node: %+v", plan.Steps)
	}
	if left, code := planned(t, c); !left.Clean || code != exitOK {
		t.Errorf("exit code %d, this is left: %+v", code, left)
	}
	var nodes corev1.NodeList
	if err := api.List(t.Context(), &nodes); err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes.Items {
		// Kubernetes itself has set a taint, as these nodes have no kubelet.
		taints := slices.DeleteFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == corev1.TaintNodeNotReady })
		if node.Labels["team"] != "" || len(taints) > 0 || len(node.Annotations) > 0 {
			t.Errorf("node %s has labels %v, annotations %v and taints %v", node.Name, node.Labels, node.Annotations, taints)
		}
	}
}

func planned(t *testing.T, c *cluster.Cluster) (plan uninstall.Plan, code int) {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), "nodepools", "uninstall", "--plan", "--kubeconfig", c.Kubeconfig(), "-o", "json")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // its exit code says how it went
	if err := json.Unmarshal(stdout.Bytes(), &plan); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
	}
	return plan, cmd.ProcessState.ExitCode()
}

// Without --plan nothing happens, as a user may expect that something does.
func TestUninstallDemandsPlan(t *testing.T) {
	var out, errs bytes.Buffer
	code := execute(t.Context(), []string{"nodepools", "uninstall"}, streams{in: strings.NewReader(""), out: &out, err: &errs})
	if code != exitUsage || out.Len() > 0 || !strings.Contains(errs.String(), "uninstall requires --plan") {
		t.Errorf("exit code %d, %s%s", code, out.String(), errs.String())
	}
}
