package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// What kubectl get shows of pools and sources. They have no short names: neighbours do.
func TestColumns(t *testing.T) {
	w := newWorld(t)
	w.node("n1", role("tenant"))
	w.approvedPool(tenantPool)
	w.isReady("tenant", 1)
	w.do(w.Create(t.Context(), &v1.NodePoolSource{
		ObjectMeta: metav1.ObjectMeta{Name: "columns"},
		Spec:       v1.NodePoolSourceSpec{URL: "file:///nowhere", Suspend: true, Interval: metav1.Duration{Duration: time.Hour}},
	}))

	pools := []string{"NAME", "READY", "REASON", "NODES", "UPDATED", "RUNTIMECLASS", "AGE"}
	for _, kind := range []string{"nodepools.nodes.lailin.xyz", "nodepool.nodes.lailin.xyz"} {
		lines := strings.Split(strings.TrimSpace(w.kubectl("get", kind)), "\n")
		if got := strings.Fields(lines[0]); len(lines) != 2 || !slices.Equal(got, pools) {
			t.Errorf("kubectl get %s shows %q, want one pool in columns %v", kind, lines, pools)
			continue
		}
		if got := strings.Fields(lines[1]); !slices.Equal(got[:6], []string{"tenant", "True", v1.SucceededReason, "1", "1", "node-pool-tenant"}) {
			t.Errorf("kubectl get %s shows %v", kind, got)
		}
	}
	sources := []string{"NAME", "URL", "READY", "REASON", "POOLS", "REVISION", "AGE"}
	for _, kind := range []string{"nodepoolsources.nodes.lailin.xyz", "nodepoolsource.nodes.lailin.xyz"} {
		header, _, _ := strings.Cut(w.kubectl("get", kind), "\n")
		if got := strings.Fields(header); !slices.Equal(got, sources) {
			t.Errorf("kubectl get %s has the columns %v, want %v", kind, got, sources)
		}
	}
}
