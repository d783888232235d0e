package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// BenchmarkDiff runs the program itself, as a pull request does: the files of 1,000
// pools against an inventory of 5,000 nodes and 50,000 pods in 3,000 workloads. One
// pool changes, or all do, each by a label and every second one by a NoExecute taint
// that no other pod tolerates. The metric MiB is the most memory that it has had.
func BenchmarkDiff(b *testing.B) {
	for _, changed := range []int{1, benchPools} {
		folder, file := benchFleet(b, changed)
		for _, format := range []string{"text", "json", "markdown", "html"} {
			b.Run(fmt.Sprintf("changed=%d/%s", changed, format), func(b *testing.B) {
				var most int64
				for b.Loop() {
					command := exec.CommandContext(b.Context(), "nodepools", "diff", folder, "--inventory", file, "--source", "fleet", "-o", format)
					command.Stderr = os.Stderr
					if err := command.Run(); !endedWith(err, exitFailed) {
						b.Fatalf("it ended with %v, and something changes", err)
					}
					if usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
						most = max(most, usage.Maxrss)
					}
				}
				b.ReportMetric(float64(most)/1024, "MiB") // Linux tells KiB
			})
		}
	}
}

func endedWith(err error, code int) bool {
	ended, ok := errors.AsType[*exec.ExitError](err)
	return ok && ended.ExitCode() == code
}

const (
	benchPools     = 1000
	benchNodes     = 5000
	benchPods      = 50000
	benchWorkloads = 3000
)

// benchFleet writes the pools of a revision that changes some of them, and the
// inventory of a cluster that is as the revision before it wants it.
func benchFleet(b *testing.B, changed int) (folder, file string) {
	b.Helper()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	before, folder := filepath.Join(b.TempDir(), "before"), filepath.Join(b.TempDir(), "pools")
	must(os.Mkdir(before, 0o700))
	must(os.Mkdir(folder, 0o700))
	for i := range benchPools {
		name := fmt.Sprintf("pool-%04d.yaml", i)
		must(os.WriteFile(filepath.Join(before, name), benchPool(i, false), 0o600))
		must(os.WriteFile(filepath.Join(folder, name), benchPool(i, i < changed), 0o600))
	}
	files, err := loadPools(before)
	must(err)

	cluster := plan.Cluster{}
	for i := range benchNodes {
		cluster.Nodes = append(cluster.Nodes, &plan.NodeState{
			Name: fmt.Sprintf("node-%04d", i),
			Labels: map[string]string{
				"kubernetes.io/hostname": fmt.Sprintf("node-%04d", i), "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
				"node.kubernetes.io/instance-type": "m6i.4xlarge", "topology.kubernetes.io/region": "eu-central-1",
				"topology.kubernetes.io/zone": fmt.Sprintf("eu-central-1%c", 'a'+i%3), "group": fmt.Sprint(i % benchPools),
			}})
	}
	difference, err := plan.Diff(plan.Revision{Source: "fleet", SourceUID: "uid-of-fleet", Name: "main@sha1:0", Pools: files.Definitions}, cluster)
	must(err)
	inv := &inventory.Inventory{Taken: "2026-01-02T03:04:05Z", Cluster: difference.After(cluster)}
	for i := range benchWorkloads {
		inv.Workloads = append(inv.Workloads, inventory.Workload{Owner: benchOwner(i)})
	}
	for i := range benchPods {
		inv.Pods = append(inv.Pods, inventory.Pod{
			Namespace: benchOwner(i % benchWorkloads).Namespace, Name: fmt.Sprintf("app-%04d-7d9f8b6c5-%05d", i%benchWorkloads, i),
			Node: fmt.Sprintf("node-%04d", i%benchNodes), Owner: benchOwner(i % benchWorkloads), Ready: true,
		})
	}
	inv.Sources = append(inv.Sources, benchSource())
	file = filepath.Join(b.TempDir(), "inventory.json")
	into, err := os.Create(file)
	must(err)
	must(inventory.Write(into, inv))
	must(into.Close())
	return folder, file
}

func benchOwner(i int) inventory.Owner {
	return inventory.Owner{Kind: "Deployment", Namespace: fmt.Sprintf("team-%02d", i%50), Name: fmt.Sprintf("app-%04d", i)}
}

func benchPool(i int, changed bool) []byte {
	text := fmt.Sprintf(`apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: pool-%04d}
spec:
  selector: {matchLabels: {group: "%d"}}
  labels: {node-pool.example.com/tier: "%d"}
`, i, i, i%7)
	if changed {
		text += "  annotations: {example.com/owner: platform}\n"
		if i%2 == 0 {
			text += "  taints: [{key: dedicated, value: \"yes\", effect: NoExecute}]\n"
		}
	}
	return []byte(text)
}

func benchSource() *v1.NodePoolSource {
	return &v1.NodePoolSource{
		ObjectMeta: metav1.ObjectMeta{Name: "fleet"},
		Spec:       v1.NodePoolSourceSpec{URL: "https://git.example.com/pools.git", Path: "pools"},
	}
}
