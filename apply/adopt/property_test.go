package adopt_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/adopt"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
	"github.com/nodepools/nodepools/render"
)

// In random clusters, the diff of the proposed files has no label and
// no taint of any node in it, but for the role labels that the proposal names, and
// none at all where no new role is asked for. Carried out, what a pool says is in the
// records of its nodes, as adopted, and nothing is left to do. What is proposed depends
// on what the cluster holds alone, and an inventory of it has all of that.
func TestAdoptionChangesNothing(t *testing.T) {
	pools, roles, selected, nodes, left := 0, 0, 0, 0, 0
	for seed := range uint64(200) {
		w := newWorld(seed)
		cluster := w.cluster(t)
		options := adopt.Options{NoNewRoles: w.oneIn(3), Patterns: w.oneIn(2)}
		if w.oneIn(2) {
			options.SelectBy = []string{pick(w, worldLabels)}
		}
		if w.oneIn(4) {
			options.Include = []string{"feature.node.kubernetes.io/*", "*"}
		}
		if w.oneIn(4) {
			options.Exclude = []string{"te*", "dedicated"}
		}
		proposal, err := adopt.Propose(cluster, options)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		left += len(proposal.LeftOut)
		if err := adoptionChangesNothing(cluster, proposal, options); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, pool := range proposal.Pools {
			pools, nodes = pools+1, nodes+len(pool.Nodes)
			switch {
			case !pool.NewRole:
				roles++
			case pool.Spec.Selector != nil:
				selected++
			}
		}
		w.Shuffle(len(cluster.Nodes), func(i, j int) { cluster.Nodes[i], cluster.Nodes[j] = cluster.Nodes[j], cluster.Nodes[i] })
		for what, same := range map[string]plan.Cluster{"in another order": cluster, "through a file": throughFile(t, cluster)} {
			again, err := adopt.Propose(same, options)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(proposal, again); diff != "" {
				t.Fatalf("seed %d: %s (-first +second):\n%s", seed, what, diff)
			}
		}
	}
	t.Logf("%d pools of %d nodes, %d of them of roles and %d by a label; %d kinds of keys left out", pools, nodes, roles, selected, left)
	if pools == 0 || roles == 0 || selected == 0 || left == 0 || roles+selected == pools {
		t.Error("something of this never happened, so it was not tested")
	}
}

// adoptionChangesNothing writes a proposal as files, reads them, and plans and makes
// the difference that they are to a cluster.
func adoptionChangesNothing(cluster plan.Cluster, proposal *adopt.Proposal, options adopt.Options) error {
	files := fstest.MapFS{}
	newRoles := map[string]bool{}
	members := map[string]map[string]bool{}
	for _, pool := range proposal.Pools {
		var text bytes.Buffer
		if err := render.WriteYAML(&text, pool.NodePool); err != nil {
			return err
		}
		files[pool.Name+".yaml"] = &fstest.MapFile{Data: text.Bytes()}
		if pool.NewRole {
			newRoles[v1.RoleLabel(pool.Name)] = true
		}
		members[pool.Name] = map[string]bool{}
		for _, node := range pool.Nodes {
			members[pool.Name][node] = true
		}
	}
	if options.NoNewRoles && len(newRoles) > 0 {
		return fmt.Errorf("new roles are proposed: %v", newRoles)
	}
	definitions, err := render.Load(files)
	if err != nil {
		return err
	}
	revision := plan.Revision{Pools: definitions}
	difference, err := plan.Diff(revision, cluster)
	if err != nil {
		return err
	}
	for _, node := range difference.Nodes {
		for _, change := range node.Changes {
			added := change.Field == plan.Label && change.Before == nil && newRoles[change.Key] && members[change.Pool][node.Name]
			if !added {
				return fmt.Errorf("%s %s of node %s changes for pool %s", change.Field, change.Key, node.Name, change.Pool)
			}
		}
	}
	after := difference.After(cluster)
	rest, err := plan.Diff(revision, after)
	if err != nil {
		return err
	}
	if !rest.Empty() {
		return fmt.Errorf("something is left to do: %v %v", rest.PoolChanges, rest.Nodes)
	}
	return carriedOut(after, proposal)
}

// throughFile is a cluster as an inventory file has it.
func throughFile(t *testing.T, cluster plan.Cluster) plan.Cluster {
	t.Helper()
	var builder inventory.Builder
	add := func(object runtime.Object) {
		if err := builder.Add(object.DeepCopyObject()); err != nil {
			t.Fatal(err)
		}
	}
	for _, pool := range cluster.Pools {
		add(pool)
	}
	for _, class := range cluster.RuntimeClasses {
		add(class)
	}
	for _, node := range cluster.Nodes {
		add(node.Object())
	}
	var text bytes.Buffer
	if err := inventory.Write(&text, builder.Inventory("")); err != nil {
		t.Fatal(err)
	}
	read, err := inventory.Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	return read.Cluster
}

// carriedOut compares what is in the records of nodes with what pools say.
func carriedOut(cluster plan.Cluster, proposal *adopt.Proposal) error {
	expansion := plan.Expand(cluster.Pools, cluster.Numbers)
	nodes := map[string]*plan.NodeState{}
	for _, node := range cluster.Nodes {
		nodes[node.Name] = node
	}
	for _, pool := range proposal.Pools {
		in := map[string]bool{}
		for _, node := range cluster.Nodes {
			record, err := plan.ParseRecord(node.Annotations[v1.AppliedAnnotation])
			if err != nil {
				continue
			}
			pools, err := plan.Members(node, expansion)
			if err != nil {
				return err
			}
			for _, name := range pools {
				in[node.Name] = in[node.Name] || name == pool.Name
			}
			if !in[node.Name] || v1.IsDisabled(node, v1.ReconcileAnnotation) {
				continue
			}
			for key := range pool.Spec.Labels {
				if entry, found := record.Labels[key]; !found || !entry.Adopted {
					return fmt.Errorf("label %s of node %s is not adopted: %+v", key, node.Name, entry)
				}
			}
			for _, taint := range pool.Spec.Taints {
				if entry, found := record.Taints[render.TaintID{Key: taint.Key, Effect: taint.Effect}]; !found || !entry.Adopted {
					return fmt.Errorf("taint %s of node %s is not adopted: %+v", taint.Key, node.Name, entry)
				}
			}
		}
		for _, name := range pool.Nodes {
			if _, err := plan.ParseRecord(nodes[name].Annotations[v1.AppliedAnnotation]); err == nil && !in[name] {
				return fmt.Errorf("node %s is not in pool %s", name, pool.Name)
			}
			delete(in, name)
		}
		for name, member := range in {
			if member {
				return fmt.Errorf("node %s is in pool %s, which is not said", name, pool.Name)
			}
		}
	}
	return nil
}
