package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const masterFile = "pools/master.yaml"

func review(ctx context.Context, s *stage) error {
	if err := s.sh.show(ctx, "git checkout -q -b master-10"); err != nil {
		return err
	}
	err := s.edit(masterFile, `master": "8"`, `master": "10"`, "    \"node-pool.lailin.xyz/test\": \"2\"\n", "")
	if err != nil {
		return err
	}
	s.out.text("In an editor, one label of the pool gets another value and one goes:")
	if err := s.sh.show(ctx, "git diff -U0 | tail -n +5"); err != nil {
		return err
	}
	if err := s.sh.show(ctx, "git commit -q -a -m 'master: 10, no test'"); err != nil {
		return err
	}
	s.out.text("nodepools diff says what the branch would do to the cluster, with the same code that would do it. It changes nothing, and ends with exit code 1 because there is a difference.")
	_, err = s.sh.showing(ctx, "nodepools diff pools", 0, 1)
	return err
}

// edit replaces texts in a file, each of which has to be there, by others.
func (s *stage) edit(name string, oldnew ...string) error {
	text, err := os.ReadFile(filepath.Join(s.sh.dir, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	for i := 0; i < len(oldnew); i += 2 {
		if !strings.Contains(string(text), oldnew[i]) {
			return fmt.Errorf("%s has no %q to edit", name, oldnew[i])
		}
	}
	return s.write(name, strings.NewReplacer(oldnew...).Replace(string(text)))
}

func merge(ctx context.Context, s *stage) error {
	if err := s.sh.show(ctx, "git checkout -q main && git merge -q master-10 && git push -q"); err != nil {
		return err
	}
	masters := []string{"cp-1", "cp-2", "cp-3"}
	took, err := until(ctx, time.Now(), "the three masters to follow", func(ctx context.Context) error {
		return s.nodes(ctx, masters, func(node *corev1.Node) error {
			if _, found := node.Labels["node-pool.lailin.xyz/test"]; found {
				return fmt.Errorf("label node-pool.lailin.xyz/test is still there")
			}
			return labelled("node-pool.lailin.xyz/master", "10")(node)
		})
	})
	if err != nil {
		return err
	}
	s.out.text("%s after the push, %s, the nodes have followed:", seconds(took), s.git.noticed())
	return s.sh.show(ctx, "kubectl get nodes -l node-role.kubernetes.io/master= \\\n"+
		"    -L node-pool.lailin.xyz/master,node-pool.lailin.xyz/test")
}
