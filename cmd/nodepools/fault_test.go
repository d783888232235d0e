package main

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/crds"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// Without leader election the controller outlives an API server that is away, and
// goes on.
func TestFaultRunOutlivesAPIServer(t *testing.T) {
	cluster.Long(t)
	away := 5 * time.Second
	if cluster.Stress() {
		away = time.Minute // longer than any waitTimeout with single requests
	}
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	c := cluster.New(t, cluster.Options{CRDs: definitions})
	scheme, err := controller.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	api, err := client.New(c.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "lasting"}, Spec: v1.NodePoolSpec{NodeNames: []string{"*"}}}
	if err := api.Create(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	joins := func(name string) {
		t.Helper()
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := api.Create(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		cluster.Eventually(t, "node "+name+" joins the pool", 2*time.Minute, func() error {
			if err := api.Get(t.Context(), client.ObjectKeyFromObject(node), node); err != nil {
				return err
			}
			if _, member := node.Labels[v1.RoleLabel("lasting")]; !member {
				return fmt.Errorf("labels are %v", node.Labels)
			}
			return nil
		})
	}

	p := runController(t, c.Kubeconfig(), t.TempDir())
	t.Cleanup(p.kill)
	joins("before")
	if err := c.Halt("kube-apiserver", syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
		t.Fatalf("it ended while the API server was away: %s\n%s", p.cmd.ProcessState, p.log.String())
	case <-time.After(away):
	}
	if err := c.Resume(t.Context(), "kube-apiserver"); err != nil {
		t.Fatal(err)
	}
	joins("after")
	p.stop(t)
}
