package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// shop is one pod on each node of the pool general. Nodes that its pods do not
// tolerate do not count for that, so that those that are evicted go elsewhere.
const shop = `apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 10
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      nodeSelector: {example.com/tier: general}
      topologySpreadConstraints:
      - topologyKey: kubernetes.io/hostname
        maxSkew: 1
        whenUnsatisfiable: DoNotSchedule
        nodeTaintsPolicy: Honor
        labelSelector: {matchLabels: {app: shop}}
      containers: [{name: app, image: registry.example.com/shop:1.0}]
`

// shopPod is the name of a pod of it.
var shopPod = regexp.MustCompile(`\bshop-[0-9a-z]+-[0-9a-z]+\b`)

const canaryFile = "pools/canary.yaml"

// canaries are the nodes that the pool canary has.
var canaries = []string{"worker-01", "worker-02"}

func evict(ctx context.Context, s *stage) error {
	s.out.text("An application runs on all nodes of the pool general, and needs nine of its ten pods at any time.")
	if err := s.write("../shop.yaml", shop); err != nil {
		return err
	}
	if err := s.sh.show(ctx, "kubectl delete pod web --now && kubectl apply -f ../shop.yaml"); err != nil {
		return err
	}
	if err := s.sh.show(ctx, "kubectl create poddisruptionbudget shop --selector=app=shop --min-available=9"); err != nil {
		return err
	}
	_, err := until(ctx, time.Now(), "ten pods, one of which may be disrupted", func(ctx context.Context) error {
		if _, err := s.shopPods(ctx); err != nil {
			return err
		}
		budget, err := s.client.PolicyV1().PodDisruptionBudgets("default").Get(ctx, "shop", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if n := budget.Status.DisruptionsAllowed; n != 1 {
			return fmt.Errorf("%d may be", n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.sh.show(ctx, "git checkout -q -b canary-alone"); err != nil {
		return err
	}
	s.out.text("Somebody wants the two canaries for tests alone, and adds a taint:")
	err = s.edit(canaryFile, "    example.com/os-channel: beta\n",
		"    example.com/os-channel: beta\n  taints:\n  - key: example.com/canary\n    effect: NoExecute\n")
	if err != nil {
		return err
	}
	if err := s.sh.show(ctx, "git diff -U0 | tail -n +5"); err != nil {
		return err
	}
	if err := s.sh.show(ctx, "git commit -q -a -m 'canary: tests alone'"); err != nil {
		return err
	}
	review, err := s.sh.showing(ctx, "nodepools diff pools", 0, 1)
	if err != nil {
		return err
	}
	s.foretold = slices.Compact(slices.Sorted(slices.Values(shopPod.FindAllString(review, -1))))
	s.out.text("A pull request would show the same as a comment, or as a page:")
	_, err = s.sh.showing(ctx, "nodepools diff pools -o html >../review.html", 0, 1)
	return err
}

func evicted(ctx context.Context, s *stage) error {
	before, err := s.shopPods(ctx)
	if err != nil {
		return err
	}
	if err := s.sh.show(ctx, "git checkout -q main && git merge -q canary-alone && git push -q"); err != nil {
		return err
	}
	var after map[string]string
	took, err := until(ctx, time.Now(), "ten pods, none of them on a canary", func(ctx context.Context) (err error) {
		if after, err = s.shopPods(ctx); err != nil {
			return err
		}
		for name, node := range after {
			if slices.Contains(canaries, node) {
				return fmt.Errorf("pod %s is on %s", name, node)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	maps.DeleteFunc(before, func(name, _ string) bool { return after[name] != "" })
	if gone := slices.Sorted(maps.Keys(before)); len(gone) == 0 || !slices.Equal(gone, s.foretold) {
		return fmt.Errorf("expected that the pods %v are evicted, and no others: %v are", s.foretold, gone)
	}
	s.out.text("%s after the push, exactly the pods that diff has named, %s, are evicted. Kubernetes asks no PodDisruptionBudget for that. Those that replace them run elsewhere:", seconds(took), strings.Join(s.foretold, " and "))
	return s.sh.show(ctx, "kubectl get pods -l app=shop --sort-by=.spec.nodeName \\\n"+
		"    -o custom-columns=POD:metadata.name,PHASE:status.phase,NODE:spec.nodeName")
}

// shopPods returns the node of each pod of the shop, by name; it is an error if
// they are not ten, all of them Running.
func (s *stage) shopPods(ctx context.Context) (map[string]string, error) {
	pods, err := s.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=shop"})
	if err != nil {
		return nil, err
	}
	nodes := map[string]string{}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning {
			return nil, fmt.Errorf("pod %s is %s", pod.Name, pod.Status.Phase)
		}
		nodes[pod.Name] = pod.Spec.NodeName
	}
	if len(nodes) != 10 {
		return nil, fmt.Errorf("there are %d", len(nodes))
	}
	return nodes, nil
}
