package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// kubelets play the kubelets and the controller-manager of the fleet: managed
// fields arise as they do where those write.
type kubelets struct {
	kubelet, manager kubernetes.Interface
}

// clientWorkers is how many requests are under way at once where nothing is measured.
const clientWorkers = 32

func newKubelets(w *world) (k kubelets, err error) {
	as := func(agent string) (kubernetes.Interface, error) {
		config := protobuf(w.cluster.Config)
		config.UserAgent = agent + "/v1.37.1 (linux/amd64) kubernetes" // its first word names the field manager
		return kubernetes.NewForConfig(config)
	}
	if k.kubelet, err = as("kubelet"); err != nil {
		return k, err
	}
	k.manager, err = as(controllerManager)
	return k, err
}

const controllerManager = "kube-controller-manager"

// createNodes creates the fleet, each node in the three writes of a real one.
func (w *world) createNodes(ctx context.Context) error {
	k, err := newKubelets(w)
	if err != nil {
		return err
	}
	now := time.Now()
	return together(ctx, len(w.fleet.members), clientWorkers, func(ctx context.Context, i int) error {
		m := w.fleet.members[i]
		if err := k.register(ctx, m); err != nil {
			return err
		}
		if err := k.admit(ctx, m); err != nil {
			return err
		}
		return k.report(ctx, m, m.status(now))
	})
}

func (k kubelets) register(ctx context.Context, m *member) error {
	if _, err := k.kubelet.CoreV1().Nodes().Create(ctx, m.registration(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create node %q: %w", m.name, err)
	}
	return nil
}

// admit is what the controller-manager does to a new node: it gives it addresses for
// its pods, and takes off the taint that a node is born with.
func (k kubelets) admit(ctx context.Context, m *member) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]string{"node.alpha.kubernetes.io/ttl": "0"}},
		"spec":     map[string]any{"podCIDR": m.podCIDR(), "podCIDRs": []string{m.podCIDR()}, "taints": m.taints()},
	})
	if err != nil {
		return err
	}
	if _, err := k.manager.CoreV1().Nodes().Patch(ctx, m.name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("patch node %q: %w", m.name, err)
	}
	return nil
}

func (k kubelets) report(ctx context.Context, m *member, status any) error {
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	err = k.kubelet.CoreV1().RESTClient().Patch(types.StrategicMergePatchType).
		Resource("nodes").Name(m.name).SubResource("status").Body(patch).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("patch the status of node %q: %w", m.name, err)
	}
	return nil
}

// heartbeat is the status that a kubelet writes when nothing has changed.
func (k kubelets) heartbeat(ctx context.Context, m *member) error {
	return k.report(ctx, m, map[string]any{"conditions": m.conditions(time.Now())})
}
