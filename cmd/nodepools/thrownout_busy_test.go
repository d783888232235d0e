package main

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/nodes"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/policies"
)

// A kubelet that writes its own node without a pause, faster than the controller whatever
// that does, is taken in by a wall all the same, is thrown out of it, and is isolated: the
// controller is refused as outdated so many times, and once it is not.
func TestANodeThatIsNeverAtRestIsThrownOut(t *testing.T) {
	w, config := newUnattended(t, cluster.Shared(t), nodeNamed("n1", nil), nodeNamed("n2", nil))
	proxy, err := w.c.Proxy(config)
	w.do(err)
	t.Cleanup(func() { w.do(proxy.Close()) })
	kubelet, beats := policies.KubeletOf(t, w.c, "n1"), 0
	proxy.Disturb(cluster.Fault{Verbs: []string{"patch"}, Resources: []string{"nodes"}, Before: func() {
		beats++
		if err := w.policy.Patch(kubelet, "n1", map[string]any{"annotations": map[string]any{"beat": fmt.Sprint(beats)}}); err != nil {
			t.Errorf("the kubelet: %v", err)
		}
	}})
	w.startRun(proxy.Config)
	isolated := "node-restriction.kubernetes.io/isolated"
	watched := []string{wallLabel, v1.RoleLabel("wall"), "tenant", "isolated", isolated}

	for _, c := range []struct {
		what, pools string
		want        []string
	}{
		{"is within the wall", fmt.Sprintf(wallPool, "n1"), []string{wallLabel + "=payments", v1.RoleLabel("wall") + "=", "tenant=payments:NoSchedule"}},
		{"is thrown out", fmt.Sprintf(wallPool, "another"), nil},
		{"is isolated", priorityQuarantine, []string{isolated + "=yes", "isolated=yes:NoSchedule"}},
	} {
		began := time.Now()
		w.apply(c.pools)
		w.has(c.what, "n1", watched, c.want...)
		var refused, written int
		w.until("the answer has come that "+c.what, func() error {
			if refused, written = patchesOf(proxy, began); written == 0 {
				return errors.New("it has not")
			}
			return nil
		})
		if written != 1 || refused < nodes.MaxTries {
			t.Errorf("%s: written %d times, refused as outdated %d times, want once after %d", c.what, written, refused, nodes.MaxTries)
		}
	}
	proxy.Disturb()
	w.until("the annotation follows once the kubelet is at rest", func() error {
		var node corev1.Node
		if err := w.Get(t.Context(), client.ObjectKey{Name: "n1"}, &node); err != nil || node.Annotations["example.com/why"] == "incident" {
			return err
		}
		return fmt.Errorf("the annotations are %v", node.Annotations)
	})
}

// patchesOf counts the patches of the node n1 since some time that were refused as outdated, and
// those that were carried out.
func patchesOf(proxy *cluster.Proxy, since time.Time) (refused, written int) {
	for _, passage := range proxy.Seen(since) {
		switch {
		case passage.Verb != "patch" || passage.Object.Resource != "nodes" || passage.Object.Name != "n1":
		case passage.Code == http.StatusOK:
			written++
		case passage.Code == http.StatusConflict:
			refused++
		}
	}
	return refused, written
}
