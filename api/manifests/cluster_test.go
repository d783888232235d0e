package manifests_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/api/crds"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/policies"
)

// waitTimeout bounds every wait for the cluster; nothing is asserted about time.
const waitTimeout = 60 * time.Second

func TestMain(m *testing.M) {
	definitions, err := crds.All()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	cluster.Main(m, cluster.Options{CRDs: definitions})
}

// newTest returns a cluster with our kinds and without nodes.
func newTest(t *testing.T) *policies.Test {
	t.Helper()
	p := policies.New(t, cluster.Shared(t))
	p.Do(p.CoreV1().Nodes().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	return p
}
