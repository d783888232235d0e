package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/adopt"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/render/output"
	hostiletexts "github.com/nodepools/nodepools/testdata/hostile"
)

// The pools of the example are what adopt writes for its cluster.
func TestExampleIsWhatAdoptWrites(t *testing.T) {
	const dir = "../../examples/adopt"
	there, err := observe.File(filepath.Join(dir, "cluster.inventory"))
	if err != nil {
		t.Fatal(err)
	}
	proposal, err := adopt.Propose(there.Cluster, adopt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := proposal.Files()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := output.WriteFiles(dir, files, true); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		have, err := os.ReadFile(filepath.Join(dir, file.Name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(have), string(file.Text)); diff != "" {
			t.Errorf("%s (-there +written):\n%s", file.Name, diff)
		}
	}
	if proposal.OwnersUnknown > 0 {
		t.Errorf("nothing says who set the labels of %d nodes", proposal.OwnersUnknown)
	}
}

// Whatever stands in an inventory, what adopt writes of it is read back as pools, and
// nothing that it prints is obeyed by a terminal or a CI job.
func TestAdoptIsNotDeceived(t *testing.T) {
	for _, each := range hostiletexts.Strings() {
		text := strings.ToValidUTF8(each.Text[:min(len(each.Text), 2000)], "")
		manager := func(field string) metav1.ManagedFieldsEntry {
			return plan.SetBy(plan.Setter{Manager: text + "-controller", Labels: []string{field}})[0]
		}
		var builder inventory.Builder
		for i := range 3 {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
				Name:          fmt.Sprint("n-", i),
				Labels:        map[string]string{"team": text, text: "x", v1.RoleLabelPrefix + text: "", "of-program": "x", "tier": "gold"},
				ManagedFields: []metav1.ManagedFieldsEntry{manager("of-program")},
			}}
			node.Spec.Taints = []corev1.Taint{{Key: text, Value: text, Effect: corev1.TaintEffect(text)}, {Key: "dedicated", Value: text, Effect: corev1.TaintEffectNoSchedule}}
			if err := builder.Add(node); err != nil {
				t.Fatal(err)
			}
		}
		var file bytes.Buffer
		if err := inventory.Write(&file, builder.Inventory("")); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), "cluster.inventory")
		if err := os.WriteFile(name, file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		code := execute(t.Context(), []string{"nodepools", "adopt", "--inventory", name}, streams{out: &out, err: &errs})
		if found := append(obeyed(out.String()), obeyed(errs.String())...); code != exitOK || len(found) > 0 {
			t.Errorf("%s: exit code %d, %q is obeyed:\n%.500q\n%.500q", each.Name, code, found, out.String(), errs.String())
		}
		if _, err := render.Load(fstest.MapFS{"pools.yaml": &fstest.MapFile{Data: out.Bytes()}}); err != nil {
			t.Errorf("%s: what is written cannot be read: %v\n%s", each.Name, err, out.String())
		}
	}
}
