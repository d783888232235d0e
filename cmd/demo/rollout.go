package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// rollout shows a canary that fails: nothing follows it, and the revert reaches it alone.
func rollout(ctx context.Context, s *stage) error {
	s.out.text("From now on, changes of the pool general begin with one node, and the others follow half an hour later.")
	err := s.edit(generalFile, "spec:\n", "spec:\n  rollout:\n    maxUnavailable: 2\n    waves: [{name: canary, nodes: 1, soak: 30m}]\n")
	if err != nil {
		return err
	}
	if err := s.sh.show(ctx, "git diff -U0 | tail -n +5"); err != nil {
		return err
	}
	if err := s.sh.show(ctx, "git commit -q -a -m 'general: a canary first' && git push -q"); err != nil {
		return err
	}
	if _, err := s.untilPools(ctx, time.Now()); err != nil {
		return err
	}
	if err := s.edit(generalFile, "backup: weekly", "backup: nightly"); err != nil {
		return err
	}
	if err := s.sh.show(ctx, "git commit -q -a -m 'general: nightly backups' && git push -q"); err != nil {
		return err
	}
	if err := s.breakCanary(ctx); err != nil {
		return err
	}
	return s.revert(ctx)
}

// breakCanary shows the canary, and what becomes of the rollout when it fails.
func (s *stage) breakCanary(ctx context.Context) error {
	if err := s.untilReason(ctx, v1.ReconcilingCondition, v1.SoakingReason); err != nil {
		return err
	}
	if err := s.sh.showHead(ctx, "kubectl get nodes -l example.com/tier=general -L example.com/backup", 4); err != nil {
		return err
	}
	s.out.text("Nightly backups are too much for the canary, and it breaks:")
	if err := s.sh.show(ctx, "kubectl annotate node worker-01 "+cluster.BrokenAnnotation+"=yes"); err != nil {
		return err
	}
	if err := s.untilReason(ctx, v1.StalledCondition, v1.RolloutHaltedReason); err != nil {
		return err
	}
	s.out.text("The rollout is halted, and stays halted when the node is ready again:")
	if err := s.sh.show(ctx, "kubectl annotate node worker-01 "+cluster.BrokenAnnotation+"-"); err != nil {
		return err
	}
	_, err := until(ctx, time.Now(), "the canary to be Ready", func(ctx context.Context) error {
		return s.nodes(ctx, []string{"worker-01"}, func(node *corev1.Node) error {
			if !ready(node) {
				return fmt.Errorf("it is not")
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	_, err = s.sh.showing(ctx, "nodepools status general", 0, 1)
	return err
}

// revert shows that the canary alone goes back.
func (s *stage) revert(ctx context.Context) error {
	s.out.text("The revert waits for no wave and no soak. The other nodes never had the change:")
	if err := s.sh.show(ctx, "git revert --no-edit HEAD >/dev/null && git push -q"); err != nil {
		return err
	}
	took, err := until(ctx, time.Now(), "the canary to be as before", func(ctx context.Context) error {
		return s.nodes(ctx, []string{"worker-01"}, labelled("example.com/backup", "weekly"))
	})
	if err != nil {
		return err
	}
	if _, err := s.untilPools(ctx, time.Now()); err != nil {
		return err
	}
	s.out.text("%s after the push the canary is what it was.", seconds(took))
	return s.sh.showHead(ctx, "kubectl get nodes -l example.com/tier=general -L example.com/backup", 4)
}

// untilReason waits until a condition of the pool general is true for a reason.
func (s *stage) untilReason(ctx context.Context, kind, reason string) error {
	_, err := until(ctx, time.Now(), "the pool general to say "+reason, func(ctx context.Context) error {
		var pool v1.NodePool
		if err := s.read(ctx, &pool, "nodepools/general"); err != nil {
			return err
		}
		for _, condition := range pool.Status.Conditions {
			if condition.Type == kind && condition.Status == "True" && condition.Reason == reason {
				return nil
			}
		}
		return fmt.Errorf("its status is %+v", pool.Status)
	})
	return err
}
