package inventory_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/api/hint"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// One that could not be read again is not written.
func TestInventoryTooLargeForYAML(t *testing.T) {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	inv := &inventory.Inventory{Cluster: plan.Cluster{Pools: []*v1.NodePool{pool}}}
	for size, tooLarge := range map[int]bool{1: false, inventory.MaxYAMLBytes: true} {
		pool.Labels = map[string]string{"size": strings.Repeat("a", size)}
		document, err := inventory.Document(inv, "yaml")
		if (err != nil) != tooLarge || err != nil && (!strings.Contains(err.Error(), "too large for YAML: more than 8 MiB") || hint.Of(err) == "") {
			t.Errorf("%d bytes: %d bytes, %v", size, len(document), err)
		}
	}
}
