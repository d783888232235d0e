package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// shop is one pod on each node of the pool general. Nodes that its pods do not
// tolerate do not count for that, so that evicted pods find another node.
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

func evict(s *stage) {
	s.say("An application runs on all nodes of the pool general, and needs nine of its ten pods at any time.")
	s.write("../shop.yaml", shop)
	s.show("kubectl delete pod web --now && kubectl apply -f ../shop.yaml")
	s.show("kubectl create poddisruptionbudget shop --selector=app=shop --min-available=9")
	s.quietly("kubectl wait --for=jsonpath='{.status.disruptionsAllowed}'=1 --timeout=45s poddisruptionbudget/shop")
	s.show("git checkout -q -b canary-alone")
	s.say("Somebody wants the two canaries for tests alone, and adds a taint:")
	s.change(canaryFile, "    example.com/os-channel: beta\n",
		"    example.com/os-channel: beta\n  taints:\n  - key: example.com/canary\n    effect: NoExecute\n")
	s.show("git commit -q -a -m 'canary: tests alone'")
	s.foretold = shopPod.FindAllString(s.showing("nodepools diff pools", 0, 1), -1)
	s.say("A pull request would show the same as a comment, or as a page:")
	s.showing("nodepools diff pools -o html >../review.html", 0, 1)
}

func evicted(s *stage) {
	before, err := s.shopPods()
	s.fail(err)
	s.show("git checkout -q main && git merge -q canary-alone && git push -q")
	took := s.until("ten pods, none of them on a canary", func() error {
		after, err := s.shopPods()
		if err != nil {
			return err
		}
		for name, node := range after {
			if node == "worker-01" || node == "worker-02" {
				return fmt.Errorf("pod %s is on %s", name, node)
			}
			delete(before, name)
		}
		return nil
	})
	slices.Sort(s.foretold)
	s.foretold = slices.Compact(s.foretold)
	if gone := slices.Sorted(maps.Keys(before)); len(gone) == 0 || !slices.Equal(gone, s.foretold) {
		s.fail(fmt.Errorf("expected that the pods %v are evicted, and no others: %v are", s.foretold, gone))
	}
	s.say("%s after the push, exactly the pods that diff has named, %s, are evicted. Kubernetes asks no PodDisruptionBudget for that. Those that replace them run elsewhere:", seconds(took), strings.Join(s.foretold, " and "))
	s.show("kubectl get pods -l app=shop --sort-by=.spec.nodeName \\\n" +
		"    -o custom-columns=POD:metadata.name,PHASE:status.phase,NODE:spec.nodeName")
}

// shopPods returns the node of each pod of the shop, by name. It is an error if they are
// not ten, all of them Running.
func (s *stage) shopPods() (map[string]string, error) {
	var pods corev1.PodList
	if s.err != nil {
		return nil, s.err
	}
	if err := s.client.List(s.ctx, &pods, client.MatchingLabels{"app": "shop"}); err != nil {
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
