package impact

import (
	"fmt"
	"maps"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
	"github.com/nodepools/nodepools/render"
)

// BenchmarkOf computes the impact on 5,000 nodes of 1,000 pools with 50,000 pods in
// 3,000 workloads. Where all changes, every pool gets a label and a taint, in turns
// NoSchedule and NoExecute, which only pods with its RuntimeClass tolerate; where
// one changes, one pool of five nodes does. The metric pods is how many are listed.
//
// BenchmarkDiff plans the change first, as diff does.
func BenchmarkOf(b *testing.B) { benchmark(b, false) }

func BenchmarkDiff(b *testing.B) { benchmark(b, true) }

func benchmark(b *testing.B, plans bool) {
	for _, c := range []struct {
		name    string
		changed int
	}{{"all", benchPools}, {"one", 1}, {"none", 0}} {
		b.Run(c.name, func(b *testing.B) {
			before, revision := benchWorld(b, c.changed)
			after := carriedOut(b, revision, before.Cluster)
			runtime.GC()
			b.ReportAllocs()
			var got *Impact
			for b.Loop() {
				if plans {
					after = carriedOut(b, revision, before.Cluster)
				}
				got = Of(before, after, nil)
			}
			listed := 0
			for _, eviction := range got.Evictions {
				listed += len(eviction.Pods)
			}
			for _, group := range got.Unschedulable {
				listed += len(group.Pods)
			}
			b.ReportMetric(float64(listed), "pods")
		})
	}
}

// carriedOut is the cluster once the revision is.
func carriedOut(b *testing.B, revision plan.Revision, cluster plan.Cluster) plan.Cluster {
	b.Helper()
	difference, err := plan.Diff(revision, cluster)
	if err != nil {
		b.Fatal(err)
	}
	return difference.After(cluster)
}

const (
	benchPools     = 1000
	benchNodes     = 5000
	benchPods      = 50000
	benchDaemons   = 4
	benchWorkloads = 3000
)

// benchWorld is a cluster that is as its pools want it, and a revision in which the
// pools up to changed differ.
func benchWorld(b *testing.B, changed int) (*inventory.Inventory, plan.Revision) {
	b.Helper()
	revision := func(changed int) plan.Revision {
		r := plan.Revision{Name: "main@sha1:0", Prune: plan.PrunePolicy{}}
		for i := range benchPools {
			r.Pools = append(r.Pools, render.Definition{Pool: benchPool(i, i < changed), File: fmt.Sprintf("pool-%d.yaml", i), Line: 1})
		}
		return r
	}
	bare := plan.Cluster{}
	for i := range benchNodes {
		bare.Nodes = append(bare.Nodes, benchNode(i))
	}
	before := &inventory.Inventory{Cluster: carriedOut(b, revision(0), bare)}
	benchWork(before)
	return before, revision(changed)
}

func benchPool(i int, changed bool) *v1.NodePool {
	name := fmt.Sprintf("pool-%04d", i)
	pool := newPool(name, words(fmt.Sprintf("node-%04d-*", i)), "pool="+name)
	if changed {
		pool.Spec.Labels["tier"] = "new"
		effect := [...]corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute}[i%2]
		pool.Spec.Taints = []v1.Taint{{Key: "pool", Value: name, Effect: effect}}
	}
	return pool
}

func benchNode(i int) *plan.NodeState {
	node := newNode(fmt.Sprintf("node-%04d-%d", i%benchPools, i/benchPools), "zone="+fmt.Sprint(i%3))
	node.Labels["kubernetes.io/hostname"] = node.Name
	for j := range 16 {
		node.Labels[fmt.Sprintf("cloud.example/label-%d", j)] = fmt.Sprint(i % (j + 1))
	}
	return node
}

func benchWork(of *inventory.Inventory) {
	live := plan.ClassesOf(of.RuntimeClasses)
	run := func(owner inventory.Owner, template inventory.Scheduling, name string, node int) {
		asks := template
		if class := live[template.RuntimeClass]; class != nil {
			asks, _ = admit(template, class)
		}
		asks.NodeSelector = maps.Clone(asks.NodeSelector)
		of.Pods = append(of.Pods, inventory.Pod{
			Namespace: owner.Namespace, Name: name, Node: of.Nodes[node].Name, Owner: owner,
			Scheduling: asks, Ready: true, Budgets: words("budget-of-" + owner.Name),
		})
	}
	for i := range benchDaemons {
		owner := inventory.Owner{Kind: "DaemonSet", Namespace: "system", Name: fmt.Sprintf("daemon-%d", i)}
		of.Workloads = append(of.Workloads, inventory.Workload{Owner: owner})
		for node := range benchNodes {
			run(owner, bearing(daemonTolerations...), fmt.Sprintf("%s-%d", owner.Name, node), node)
		}
	}
	each := (benchPods - benchDaemons*benchNodes) / benchWorkloads
	for i := range benchWorkloads {
		owner := inventory.Owner{Kind: "Deployment", Namespace: fmt.Sprintf("team-%d", i%50), Name: fmt.Sprintf("app-%d", i)}
		var template inventory.Scheduling
		switch i % 4 {
		case 0:
			template = naming(of.RuntimeClasses[i%benchPools].Name, asking())
		case 1:
			template = needing(asking(), labelled("zone", corev1.NodeSelectorOpIn, "0", "1"), labelled("app", corev1.NodeSelectorOpNotIn, owner.Name))
		case 2:
			template = with(asking("zone="+fmt.Sprint(i%3)), bearsFor(int64(i), "pool:NoExecute"))
		}
		of.Workloads = append(of.Workloads, inventory.Workload{Owner: owner, Template: template})
		of.Budgets = append(of.Budgets, inventory.Budget{Namespace: owner.Namespace, Name: "budget-of-" + owner.Name, Allowed: 1})
		for j := range each {
			// Those of a RuntimeClass are where it leads, the others anywhere.
			node := (i*7 + j*131) % benchNodes
			if i%4 == 0 {
				node = i%benchPools + j%5*benchPools
			}
			run(owner, template, fmt.Sprintf("%s-%d", owner.Name, j), node)
		}
	}
}
