package adopt

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nodepools/nodepools/api/wrap"
	"github.com/nodepools/nodepools/apply/plan"
)

// Of very many pools it is said that no file holds them, and what parts the nodes so;
// and no line is wider than a terminal, but for names that are.
func TestSummaryOfManyPools(t *testing.T) {
	var cluster plan.Cluster
	for i := range maxFilePools + 1 {
		cluster.Nodes = append(cluster.Nodes, &plan.NodeState{
			Name: fmt.Sprint("n-", i), Labels: map[string]string{"rack": fmt.Sprint(i % 97), "slot": fmt.Sprint(i % 11), "env": "production"}})
	}
	proposal, err := Propose(cluster, Options{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := proposal.Files()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	Summary{Proposal: proposal, Nodes: len(cluster.Nodes), Source: "fleet", Files: files}.WriteText(&errs)
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
