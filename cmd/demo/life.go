package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func join(ctx context.Context, s *stage) error {
	if err := s.write("../worker-11.yaml", manifest("worker-11")); err != nil {
		return err
	}
	s.out.text("Its name matches worker-*, so it is in the pool general from the start.")
	took, err := s.reaction(ctx, "worker-11", "kubectl create -f ../worker-11.yaml",
		func(*corev1.Node) error { return nil },
		labelled("example.com/tier", "general"))
	if err != nil {
		return err
	}
	s.out.text("It had its labels %s after it was there: nobody waits for the next look at Git.", millis(took))
	return s.sh.show(ctx, "kubectl get node worker-11 -L example.com/tier,example.com/os-channel")
}

func drift(ctx context.Context, s *stage) error {
	const taint = "example.com/dedicated=gpu:NoSchedule"
	label, err := s.reaction(ctx, "worker-03", "kubectl label --overwrite node worker-03 example.com/tier=mine",
		labelled("example.com/tier", "mine"),
		labelled("example.com/tier", "general"))
	if err != nil {
		return err
	}
	taints, err := s.reaction(ctx, "gpu-1", "kubectl taint node gpu-1 example.com/dedicated-",
		not(tainted(taint)),
		tainted(taint))
	if err != nil {
		return err
	}
	s.out.text("The label was put back after %s, the taint after %s.", millis(label), millis(taints))
	if err := s.sh.show(ctx, "kubectl get nodes worker-03 gpu-1 -L example.com/tier"); err != nil {
		return err
	}
	return s.sh.show(ctx, "kubectl get node gpu-1 -o jsonpath='{.spec.taints}{\"\\n\"}'")
}

func remove(ctx context.Context, s *stage) error {
	s.out.text("First, another team leaves a mark of its own on a node of the pool.")
	if err := s.sh.show(ctx, "kubectl label node edge-1 rack=b7"); err != nil {
		return err
	}
	edges := []string{"edge-1", "edge-2", "edge-3"}
	want := map[string]facts{}
	for _, name := range edges {
		want[name] = s.bare[name]
	}
	want["edge-1"] = s.bare["edge-1"].with("rack", "b7")

	if err := s.sh.show(ctx, "git rm -q pools/edge.yaml && git commit -q -m 'no edge pool' && git push -q"); err != nil {
		return err
	}
	start := time.Now()
	took, err := until(ctx, start, "the edge nodes to be as they were before there was a pool", func(ctx context.Context) error {
		return s.nodes(ctx, edges, func(node *corev1.Node) error {
			if has := factsOf(node); !has.equal(want[node.Name]) {
				return fmt.Errorf("it carries %v and not %v", has, want[node.Name])
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	if _, err := s.untilPools(ctx, start); err != nil {
		return err
	}
	s.out.text("%s after the push, nothing of the pool is left on its nodes. What somebody else has put there stays.", seconds(took))
	if err := s.sh.show(ctx, "kubectl get nodepools.nodes.lailin.xyz"); err != nil {
		return err
	}
	return s.sh.show(ctx, "kubectl get nodes edge-1 edge-2 edge-3 -L rack,example.com/tier")
}
