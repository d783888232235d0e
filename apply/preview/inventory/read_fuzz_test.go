package inventory

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzRead reads what nobody would write. It must end, with an inventory or with an
// error that is short; and an inventory must come back from a file as it is.
func FuzzRead(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "fleet.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	for _, seed := range []string{
		inFile(`"nodes": [{"names": ["n[08-12]", "a.x", "a.y"], "labels": {"h": "$node"}, "ownLabels": {"s": {"n08": "1"}}, "otherAnnotations": ["k"], "alsoApplied": {"labels": ["h"]}}]`),
		inFile(`"nodes": [{"names": ["n.x"]}], "workloads": [{"group": "example.com", "kind": "DaemonSet", "name": "x", "namespace": "a", "template": {}, "pods": [{"prefix": "p-", "pods": ["n x", "n"], "defaultTolerations": true, "moreTolerations": [{}], "requiredNodeAffinity": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["$node"]}]}]}}]}]`),
		inFile(`"nodePools": [{"name": "a", "uid": "u", "deleting": true, "spec": {}, "managed": {"labels": ["x"]}, "alsoApplied": {"labels": ["x"]}}], "runtimeClasses": [{"name": "c", "handler": "h", "pool": "a", "overhead": {"podFixed": {"cpu": "1e3"}}}]`),
		inFile(`"nodePoolSources": [{"name": "s", "uid": "u", "blockedPrune": {"count": 2, "pools": ["a", "b"]}, "spec": {"url": "u", "interval": "90s", "pruneLimit": "30%"}}], "podDisruptionBudgets": [{"namespace": "a", "name": "b", "selector": {}, "allowed": 1, "healthy": 2, "desired": 3}], "workloads": null`),
		"apiVersion: " + APIVersion + "\nkind: Inventory\ntaken: 2026-01-02T03:04:05Z\nnodes:\n- names:\n  - b\n  labels: {a: \"8\"}\n",
		"a: &a [*a]\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		inv, err := Read(bytes.NewReader(data))
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Errorf("the error is %d bytes long", len(err.Error()))
			}
			return
		}
		first := written(t, inv)
		again, err := Read(bytes.NewReader(first))
		if err != nil {
			t.Fatalf("what was written is not read: %v\n%s", err, first)
		}
		if second := written(t, again); !bytes.Equal(first, second) {
			t.Errorf("first\n%s\nand then\n%s", first, second)
		}
	})
}
