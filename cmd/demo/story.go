package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// story is shown from the first chapter to the last; each builds on those before.
var story = []struct {
	title string
	show  func(context.Context, *stage) error
}{
	{"Twenty nodes, and what Kubernetes knows of their pools", before},
	{"Install nodepools", install},
	{"Point it at a Git repository", follow},
	{"A pod that says nothing but runtimeClassName", pod},
	{"A change on a branch, and what it would do", review},
	{"The change is merged", merge},
	{"A change that evicts pods, and a review that says so", evict},
	{"The taint is merged, and the pods go", evicted},
	{"A node joins", join},
	{"Somebody changes nodes by hand", drift},
	{"Two want different values for one label", conflict},
	{"A change that breaks the first node, and no other", rollout},
	{"A pool is removed from Git", remove},
}

func before(ctx context.Context, s *stage) error {
	return s.sh.showHead(ctx, "kubectl get nodes", 9)
}

func pod(ctx context.Context, s *stage) error {
	manifest, err := os.ReadFile(filepath.FromSlash("examples/pod.yaml"))
	if err != nil {
		return err
	}
	if err := s.write("../pod.yaml", withoutComments(string(manifest))); err != nil {
		return err
	}
	if err := s.sh.show(ctx, "cat ../pod.yaml && kubectl apply -f ../pod.yaml"); err != nil {
		return err
	}
	if err := s.sh.show(ctx, "kubectl run web --image=registry.example.com/web:1.0"); err != nil {
		return err
	}
	node := map[string]string{}
	_, err = until(ctx, time.Now(), "both pods Running", func(ctx context.Context) error {
		for _, name := range []string{"inference", "web"} {
			pod, err := s.client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if pod.Status.Phase != corev1.PodRunning {
				return fmt.Errorf("pod %s is %s", name, pod.Status.Phase)
			}
			node[name] = pod.Spec.NodeName
		}
		return nil
	})
	if err != nil {
		return err
	}
	if n := node["inference"]; n != "gpu-1" && n != "gpu-2" {
		return fmt.Errorf("expected pod inference on gpu-1 or gpu-2, which are in pool gpu and not in training: it is on %s", n)
	}
	if n := node["web"]; !strings.HasPrefix(n, "worker-") {
		return fmt.Errorf("expected pod web, which names no pool, on a worker: it is on %s", n)
	}
	s.out.text("The RuntimeClass brought node selector and toleration. The pod that names no pool stays off the tainted nodes.")
	return s.sh.show(ctx, "kubectl get pods \\\n"+
		"    -o custom-columns=POD:metadata.name,PHASE:status.phase,NODE:spec.nodeName")
}

// withoutComments leaves out the comments that teach.
func withoutComments(manifest string) string {
	var kept []string
	for line := range strings.Lines(manifest) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
