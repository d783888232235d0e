package nodes

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// pages is an API server that returns the metadata of nodes by pages.
type pages struct {
	client.Reader
	t        *testing.T
	nodes    []metav1.PartialObjectMetadata
	requests int
	// fails is the request that fails; 0 for none.
	fails int
}

func (p *pages) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	p.requests++
	if p.requests == p.fails {
		return errors.New("the API server is down")
	}
	options := (&client.ListOptions{}).ApplyOptions(opts)
	page, ok := list.(*metav1.PartialObjectMetadataList)
	if !ok || page.Kind != "NodeList" || page.APIVersion != "v1" || options.Limit != changesChunk {
		p.t.Fatalf("%d %T of kind %s %s are asked for, want the metadata of %d nodes", options.Limit, list, page.APIVersion, page.Kind, changesChunk)
	}
	from, _ := strconv.Atoi(options.Continue)
	to := min(from+changesChunk, len(p.nodes))
	page.Items = p.nodes[from:to]
	if to < len(p.nodes) {
		page.Continue = strconv.Itoa(to)
	}
	return nil
}

// nodesOf are nodes by their records.
func nodesOf(record func(i int) string, count int) []metav1.PartialObjectMetadata {
	nodes := make([]metav1.PartialObjectMetadata, count)
	for i := range nodes {
		nodes[i].Name = fmt.Sprintf("n-%d", i)
		nodes[i].Annotations = map[string]string{v1.AppliedAnnotation: record(i)}
	}
	return nodes
}

func TestListChangesReadsEveryPage(t *testing.T) {
	at := time.Date(2026, time.November, 25, 2, 0, 0, 0, time.UTC)
	record := func(i int) string {
		switch i {
		case 1:
			return "" // nothing is ours
		case 2:
			return "{" // it cannot be read
		case 3:
			return `{"version":1,"pools":{"p":{"labels":{"k":"1"}}}}` // it has followed nothing
		}
		return fmt.Sprintf(`{"version":1,"pools":{"p":{"labels":{"k":"1"}}},"change":{"at":%q,"pools":{"p":{}}}}`,
			at.Add(time.Duration(i)*time.Second).Format(time.RFC3339))
	}
	for _, count := range []int{0, 1, changesChunk, 2*changesChunk + 7} {
		live := &pages{t: t, nodes: nodesOf(record, count)}
		changes, err := listChanges(t.Context(), live)
		if err != nil {
			t.Fatal(err)
		}
		if want := max(1, (count+changesChunk-1)/changesChunk); live.requests != want {
			t.Errorf("%d requests are made for %d nodes, want %d", live.requests, count, want)
		}
		for i := range count {
			change, found := changes[fmt.Sprintf("n-%d", i)]
			if left := i >= 1 && i <= 3; found == left || found && !change.At.Equal(at.Add(time.Duration(i)*time.Second)) {
				t.Errorf("the change of node %d of %d is %v, found: %t", i, count, change, found)
			}
		}
	}
}

// Half of what was done would be taken for all of it, for good.
func TestListChangesIsWholeOrNot(t *testing.T) {
	live := &pages{t: t, nodes: nodesOf(func(int) string { return "" }, 3*changesChunk), fails: 2}
	if changes, err := listChanges(t.Context(), live); err == nil {
		t.Errorf("the second page cannot be read, and the changes are %v", changes)
	}
}
