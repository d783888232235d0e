package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/adopt"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
	"github.com/nodepools/nodepools/apply/wrap"
	"github.com/nodepools/nodepools/render"
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
	files, err := poolTexts(proposal)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := writeFiles(dir, files, true); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		have, err := os.ReadFile(filepath.Join(dir, file.name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(have), string(file.text)); diff != "" {
			t.Errorf("%s (-there +written):\n%s", file.name, diff)
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

// Of very many pools it is said that no file holds them, and what parts the nodes so;
// and no line is wider than a terminal, but for names that are.
func TestSummaryOfManyPools(t *testing.T) {
	var cluster plan.Cluster
	for i := range maxFilePools + 1 {
		cluster.Nodes = append(cluster.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint("n-", i), Labels: map[string]string{"rack": fmt.Sprint(i % 97), "slot": fmt.Sprint(i % 11), "env": "production"},
		}})
	}
	proposal, err := adopt.Propose(cluster, adopt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := poolTexts(proposal)
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	s := adoptSummary{Proposal: proposal, there: &observe.State{Cluster: cluster, Sources: []*v1.NodePoolSource{{ObjectMeta: metav1.ObjectMeta{Name: "fleet"}}}}, options: &adoptOptions{}, files: files}
	s.write(streams{err: &errs})
	text := strings.Join(strings.Fields(errs.String()), " ")
	for _, want := range []string{
		"1001 pools for 1001 of 1001 nodes",
		"is rack, slot for the most part: --exclude",
		"use --output-dir",
		"beside those of NodePoolSource fleet",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, errs.String())
		}
	}
	for line := range strings.Lines(errs.String()) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > wrap.Width {
			t.Errorf("too wide: %s", line)
		}
	}
}
