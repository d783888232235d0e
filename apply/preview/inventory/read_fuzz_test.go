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
		inFile(object("v1", "Node", "n", `, "status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "X", "status": "True"}]}`),
			object("v1", "Pod", "p", `, "spec": {"nodeName": "n", "tolerations": [{}]}`), object("apps/v1", "Deployment", "d", ""), object("policy/v1", "PodDisruptionBudget", "b", `, "spec": {"selector": {}}`)),
		inFile(object("nodes.lailin.xyz/v1", "NodePool", "a", `, "spec": {"labels": {"x": "y"}}`), object("nodes.lailin.xyz/v1", "NodePoolSource", "s", `, "spec": {"url": "u", "interval": "90s", "pruneLimit": "30%"}`),
			object("node.k8s.io/v1", "RuntimeClass", "c", `, "handler": "h", "overhead": {"podFixed": {"cpu": "1e3"}}`)),
		"apiVersion: v1\nkind: List\nitems: [{apiVersion: " + APIVersion + ", kind: Inventory, taken: \"2026-01-02T03:04:05Z\"}]\n",
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
