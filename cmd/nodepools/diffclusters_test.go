package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/apply/preview/review"
)

// TestClustersAreReviewedAsAlone makes random repositories of layers and two random
// clusters that read them. What the review of both has of a cluster is, to the byte, the
// review of that cluster alone, and so what run does there; and where that is an error,
// it is one in the review of both.
func TestClustersAreReviewedAsAlone(t *testing.T) {
	const worlds = 30
	var evictions, failures, reviews, nodes int
	for seed := range uint64(worlds) {
		w := layeredWorld{rand.New(rand.NewPCG(seed, 7))}
		g := newGitFolder(t)
		w.write(t, g.dir, "base", 4, false)
		for _, cluster := range []string{"a", "b"} {
			w.write(t, g.dir, "clusters/"+cluster, 3, true)
		}
		g.commit()
		w.write(t, g.dir, "base", 4, false)
		t.Chdir(g.dir)
		args := []string{"--base", "main", "-o", "json", "--exit-zero"}
		var files []string
		for _, cluster := range []string{"a", "b"} {
			file := filepath.Join(t.TempDir(), cluster+".yaml")
			if err := os.WriteFile(file, []byte(w.inventory(cluster)), 0o600); err != nil {
				t.Fatal(err)
			}
			files = append(files, "--inventory", file)
		}
		stdout, stderr, code := diffed(t, append(args, files...)...)
		var all struct {
			Summary  review.Summary
			Clusters []struct {
				Inventory string
				Review    json.RawMessage
				Failure   *review.Failure
			}
		}
		if stdout == "" && code == exitUsage {
			failures++ // the same error of both
			continue
		}
		if err := json.Unmarshal([]byte(stdout), &all); err != nil || len(all.Clusters) != 2 {
			t.Fatalf("world %d: %v, exit code %d: %s", seed, err, code, stderr)
		}
		failed := false
		for _, cluster := range all.Clusters {
			alone, message, code := diffed(t, append(args, "--inventory", cluster.Inventory)...)
			if cluster.Failure != nil {
				failed = true
				failures++
				if code != exitUsage || !strings.Contains(message, "error: "+cluster.Failure.Message) || alone != "" {
					t.Errorf("world %d: alone it ends with %d, %q, and the failure is %+v", seed, code, message, cluster.Failure)
				}
				continue
			}
			reviews++
			if diff := cmp.Diff(indented(t, []byte(alone)), indented(t, cluster.Review)); code != exitOK || diff != "" {
				t.Fatalf("world %d, %s: exit code %d (-alone +in both):\n%s", seed, cluster.Inventory, code, diff)
			}
		}
		if failed != (code == exitUsage) || !failed && code != exitOK {
			t.Errorf("world %d: exit code %d: %s", seed, code, stderr)
		}
		evictions += all.Summary.Counts.Evictions
		nodes += all.Summary.Counts.NodesChanged
	}
	t.Logf("%d worlds: %d reviews, %d failures, %d nodes, %d evictions", worlds, reviews, failures, nodes, evictions)
	if evictions == 0 || failures == 0 || nodes == 0 || reviews < worlds {
		t.Error("something of this never happened, so it was not tested")
	}
}

func indented(t *testing.T, document []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(document, &value); err != nil {
		t.Fatalf("%v: %s", err, document)
	}
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// layeredWorld makes pools in layers and clusters that read them.
type layeredWorld struct{ *rand.Rand }

// write makes the pools of a layer anew; those of a patch change or remove keys, which
// may not be there.
func (w layeredWorld) write(t *testing.T, dir, layer string, pools int, patch bool) {
	t.Helper()
	folder := filepath.Join(dir, "pools", filepath.FromSlash(layer))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range pools {
		var text strings.Builder
		fmt.Fprintf(&text, "apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata: {name: p%d}\nspec:\n  labels: {", i)
		fmt.Fprintf(&text, "always: %q", fmt.Sprint(w.IntN(3)))
		for _, key := range []string{"often", "seldom"} {
			switch {
			case patch && w.IntN(20) == 0:
				fmt.Fprintf(&text, ", %s: null", key)
			case w.IntN(2) == 0:
				fmt.Fprintf(&text, ", %s: %q", key, fmt.Sprint(w.IntN(3)))
			}
		}
		text.WriteString("}\n")
		if w.IntN(3) == 0 {
			fmt.Fprintf(&text, "  taints: [{key: k%d, effect: %s}]\n", w.IntN(2), []string{"NoSchedule", "NoExecute"}[w.IntN(2)])
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("p%d.yaml", i)), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// inventory is that of a cluster whose source reads the layers of its name.
func (w layeredWorld) inventory(cluster string) string {
	var text strings.Builder
	fmt.Fprintf(&text, `apiVersion: v1
kind: List
items:
- {apiVersion: inventory.nodes.lailin.xyz/v1, kind: Inventory, taken: "2026-11-20T0%d:00:00Z", withoutPods: %t}
- {apiVersion: nodes.lailin.xyz/v1, kind: NodePoolSource, metadata: {name: fleet, uid: uid-of-%[3]s}, spec: {url: "https://git.example.com/fleet.git", path: pools, layers: [base, clusters/%[3]s]}}
`, w.IntN(10), w.IntN(8) == 0, cluster)
	for i := range 1 + w.IntN(6) {
		fmt.Fprintf(&text, "- {apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {node-role.kubernetes.io/p%d: \"\"}}}\n", i, w.IntN(4))
		fmt.Fprintf(&text, "- {apiVersion: apps/v1, kind: Deployment, metadata: {namespace: d, name: w%d}}\n", i)
		text.WriteString(runningPod("d", fmt.Sprintf("w%d", i), fmt.Sprintf("w%d-x", i), fmt.Sprintf("n%d", i)))
	}
	return text.String()
}

// Each cluster whose source is outside its windows has a note of that, at the moment that
// is asked about.
func TestClustersHaveWindowNotes(t *testing.T) {
	pools := t.TempDir()
	if err := os.WriteFile(filepath.Join(pools, "p.yaml"), []byte("apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata: {name: p}\nspec: {labels: {a: b}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var args []string
	for cluster, windows := range map[string]string{"nightly": `, windows: [{schedule: "0 2 * * *", duration: 1h}]`, "always": ""} {
		file := filepath.Join(t.TempDir(), cluster+".yaml")
		text := fmt.Sprintf(inventoryHead+
			"\n- {apiVersion: nodes.lailin.xyz/v1, kind: NodePoolSource, metadata: {name: fleet, uid: uid-of-%s}, spec: {url: \"https://git.example.com/fleet.git\"%s}}\n", cluster, windows)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--inventory", file)
	}
	const note = `NodePoolSource "fleet" does not apply a new revision at 2026-12-24T12:00:00Z: outside the windows of the source; the next opening is 2026-12-25T02:00:00Z`
	for moment, want := range map[string]int{"2026-12-24T12:00:00Z": 1, "2026-12-24T02:30:00Z": 0} {
		_, stderr, code := diffed(t, append([]string{pools, "--exit-zero", "--at", moment}, args...)...)
		if code != exitOK || strings.Count(stderr, "nightly: "+note) != want || strings.Count(stderr, "does not apply") != want {
			t.Errorf("at %s: exit code %d, want %d notes: %s", moment, code, want, stderr)
		}
	}
}
