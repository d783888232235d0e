package main

import (
	"context"
	"fmt"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
)

const generalFile = "pools/general.yaml"

func conflict(ctx context.Context, s *stage) error {
	s.out.text("The team that makes backups has labelled a node. Later, the pool of that node comes to want another value.")
	if err := s.sh.show(ctx, "kubectl label node worker-05 example.com/backup=daily --field-manager=backup"); err != nil {
		return err
	}
	err := s.edit(generalFile, "    example.com/os-channel: stable\n", "    example.com/os-channel: stable\n    example.com/backup: weekly\n")
	if err != nil {
		return err
	}
	if err := s.sh.show(ctx, "git diff -U0 | tail -n +5"); err != nil {
		return err
	}
	if err := s.sh.show(ctx, "git commit -q -a -m 'general: weekly backups' && git push -q"); err != nil {
		return err
	}
	_, err = until(ctx, time.Now(), "the pool general to report a conflict", func(ctx context.Context) error {
		var pool v1.NodePool
		if err := s.read(ctx, &pool, "nodepools/general"); err != nil {
			return err
		}
		if n := pool.Status.Nodes; pool.Status.ObservedGeneration != pool.Generation || n.Conflicted != 1 || n.Updated != n.Desired-1 {
			return fmt.Errorf("its status is %+v", pool.Status)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.out.text("The pool leaves what is not its own, and says so; its other nodes follow.")
	if err := s.sh.show(ctx, "kubectl get nodepools.nodes.lailin.xyz general"); err != nil {
		return err
	}
	s.out.text("explain says whose each key of that node is, who has set it, and what a pool wants instead:")
	if err := s.sh.show(ctx, "nodepools explain node worker-05"); err != nil {
		return err
	}
	s.out.text("The teams agree on weekly, and the label that is in the way goes.")
	took, err := s.reaction(ctx, "worker-05", "kubectl label node worker-05 example.com/backup-",
		not(labelled("example.com/backup", "daily")),
		labelled("example.com/backup", "weekly"))
	if err != nil {
		return err
	}
	if _, err := s.untilPools(ctx, time.Now()); err != nil {
		return err
	}
	s.out.text("%s later the node has that of the pool. A pool that is to prevail would have said conflictPolicy: TakeOver.", millis(took))
	return s.sh.show(ctx, "kubectl get node worker-05 -L example.com/backup")
}
