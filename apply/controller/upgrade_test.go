package controller

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// recordsV1 holds the records that version 1 wrote on the nodes of leftByV1.
const recordsV1 = "../plan/testdata/records/v1"

// upgraded are the nodes of leftByV1 whose records are of version 1 at first.
var upgraded = []string{"plain", "taken-over", "adopted", "several-pools", "by-name"}

// current is a node whose record is of this version from the start.
const current = "current"

// leftByV1 is a cluster as version 1 has left it, the loops stopped: pools that
// put keys on, take over, adopt and choose by name, and nodes that are as they
// were when version 1 wrote the records. It returns the nodes as they were
// before there were pools.
func leftByV1(t *testing.T) (w *world, before map[string]*corev1.Node) {
	w = newWorld(t)
	team := map[string]string{v1.RoleLabel("taker"): "", "team": "old"}
	tier := map[string]string{v1.RoleLabel("adopter"): "", "tier": "back"}
	several := role("tenant", "taker", "adopter")
	several["tier"] = ""
	w.node("plain", role("tenant"), "theirs=x:NoSchedule")
	w.node("taken-over", team, "team=old:NoSchedule", "theirs=x:NoSchedule")
	w.node("adopted", tier, "tier=:NoExecute")
	w.node("several-pools", several, "tier=front:NoExecute")
	w.node("by-name", nil)
	w.node(current, role("tenant", "taker"), "team=old:NoSchedule")
	w.kubectl("annotate", "node", "taken-over", "team=")
	w.kubectl("annotate", "node", "adopted", "tier=front")
	w.kubectl("annotate", "node", "several-pools", "tier=back")
	w.isReadyNode(append(upgraded, current)...)
	before = map[string]*corev1.Node{}
	for _, name := range append(upgraded, current) {
		before[name] = w.get(name)
	}

	w.pool(tenantPool)
	w.pool(`
metadata: {name: taker}
spec:
  conflictPolicy: TakeOver
  labels: {team: ml, example.com/cost-centre: "4711"}
  annotations: {team: ml}
  taints: [{key: team, value: ml, effect: NoSchedule}]`)
	w.pool(`
metadata: {name: adopter}
spec:
  conflictPolicy: Adopt
  labels: {tier: front}
  annotations: {tier: front}
  taints: [{key: tier, value: front, effect: NoExecute}]`)
	w.pool(`
metadata: {name: named}
spec:
  nodeNames: [by-name, several*]
  annotations: {example.com/motd: "say \"<b>\" & \\ … to\nall"}`)
	w.isReady("tenant", 3)
	w.isReady("taker", 3)
	w.isReady("adopter", 2)
	w.isReady("named", 2)
	w.becomesIdle()
	records := map[string]string{}
	for _, name := range upgraded {
		records[name] = w.recordByV1(name)
	}
	w.stop()
	for name, record := range records {
		w.applyAsV1(name, record)
	}
	return w, before
}

// recordByV1 is the record that version 1 wrote on a node. It has to say what
// the loops have put there by now.
func (w *world) recordByV1(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(recordsV1, name+".json"))
	w.do(err)
	record, err := plan.ParseRecord(strings.TrimSuffix(string(text), "\n"))
	w.do(err)
	now, err := plan.ParseRecord(w.get(name).Annotations[v1.AppliedAnnotation])
	w.do(err)
	if !now.Equal(record) {
		w.t.Fatalf("the pools of the test are not those of version 1: they put on node %s\n%s\nand then they put\n%s", name, now, record)
	}
	return strings.TrimSuffix(string(text), "\n")
}

// applyAsV1 writes a node as version 1 did, with its record to the letter: a
// forced apply of all that the record names and of the whole list of taints.
func (w *world) applyAsV1(name, recorded string) {
	w.t.Helper()
	record, err := plan.ParseRecord(recorded)
	w.do(err)
	node := w.get(name)
	labels, annotations := map[string]string{}, map[string]string{v1.AppliedAnnotation: recorded}
	for key, entry := range record.Labels {
		labels[key] = entry.Value
	}
	for key, entry := range record.Annotations {
		annotations[key] = entry.Value
	}
	body := map[string]any{
		"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{"name": name, "uid": node.UID, "resourceVersion": node.ResourceVersion, "labels": labels, "annotations": annotations},
	}
	if len(record.Taints) > 0 {
		body["spec"] = map[string]any{"taints": node.Spec.Taints}
	}
	data, err := json.Marshal(body)
	w.do(err)
	w.do(w.Patch(w.t.Context(), node, client.RawPatch(types.ApplyPatchType, data), client.ForceOwnership, client.FieldOwner(v1.FieldManager)))
}

// recordVersions are the versions of the records on nodes; a node without one
// is left out.
func (w *world) recordVersions() map[string]int {
	w.t.Helper()
	var nodes corev1.NodeList
	w.do(w.List(w.t.Context(), &nodes))
	versions := map[string]int{}
	for _, node := range nodes.Items {
		if text := node.Annotations[v1.AppliedAnnotation]; text != "" {
			var record struct{ Version int }
			w.do(json.Unmarshal([]byte(text), &record))
			versions[node.Name] = record.Version
		}
	}
	return versions
}

// A cluster that the record version before this one has left is understood: the
// upgrade itself writes nothing, each change writes each node that it concerns
// once and in this version, and when the pools go, every node is what it was
// before version 1 had seen it.
func TestUpgradeFromRecordV1(t *testing.T) {
	w, before := leftByV1(t)
	versions := w.recordVersions()
	for _, name := range upgraded {
		if versions[name] != 1 {
			t.Fatalf("the record of node %s is of version %d at first", name, versions[name])
		}
	}
	// step does something, and reports how often each node must be written for it.
	// From then on its record is of this version, or gone.
	step := func(what string, do func(), writes map[string]int) {
		t.Helper()
		mark := w.mark()
		do()
		w.settle()
		done, refused := w.nodeWrites(mark)
		t.Logf("%s: %d nodes written, %d writes refused and repeated", what, len(done), refused)
		if !maps.Equal(done, writes) {
			t.Errorf("%s: nodes were written so often: %v, want %v", what, done, writes)
		}
		now := w.recordVersions()
		for name := range writes {
			delete(versions, name)
			if now[name] != 0 {
				versions[name] = 2
			}
		}
		if !maps.Equal(now, versions) {
			t.Errorf("%s: the records are of versions %v, want %v", what, now, versions)
		}
	}
	isAsBefore := func(names ...string) {
		t.Helper()
		for _, name := range names {
			if now, was := bare(t, w.get(name)), bare(t, before[name]); now != was {
				t.Errorf("node %s is\n%s\nand was before there were pools\n%s", name, now, was)
			}
		}
	}

	mark := w.mark()
	step("the upgrade", func() { w.start(); w.becomesIdle() }, map[string]int{})
	for _, write := range w.writesSince(mark) {
		t.Errorf("the upgrade alone writes: %s", write)
	}
	step("drift", func() {
		w.kubectl("taint", "--overwrite", "node", "adopted", "tier=byhand:NoExecute")
		w.carries("adopted", map[string]string{v1.RoleLabel("adopter"): "", "tier": "front"}, "tier=front:NoExecute")
	}, map[string]int{"adopted": 1})
	step("a change", func() {
		w.change("tenant", func(pool *v1.NodePool) {
			pool.Spec.Labels["tenant"] = "b"
			pool.Spec.Taints = pool.Spec.Taints[:1]
		})
		w.isReady("tenant", 3)
	}, map[string]int{"plain": 1, "several-pools": 1, current: 1})
	severally := role("tenant", "taker", "adopter", "named")
	maps.Copy(severally, map[string]string{"tenant": "b", "example.com/rack": "r1", "team": "ml", "example.com/cost-centre": "4711", "tier": "front"})
	w.carries("several-pools", severally, "tenant=a:NoSchedule", "team=ml:NoSchedule", "tier=front:NoExecute")
	step("a release", func() { w.remove("taker") }, map[string]int{"taken-over": 1, "several-pools": 1, current: 1})
	isAsBefore("taken-over")
	step("the other releases", func() {
		w.remove("tenant")
		w.remove("adopter")
		w.remove("named")
	}, map[string]int{"plain": 1, "adopted": 1, "several-pools": 3, "by-name": 1, current: 1})

	// What was adopted goes with the pool, and all else is as it was.
	for _, name := range []string{"adopted", "several-pools"} {
		node := before[name]
		delete(node.Labels, "tier")
		delete(node.Annotations, "tier")
		node.Spec.Taints = nil
	}
	isAsBefore(append(upgraded, current)...)
}
