package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
)

func follow(ctx context.Context, s *stage) error {
	s.out.text("The repository holds one file per pool. This one is a whole pool; its members are the nodes with the role label, as nothing else is said:")
	if err := s.sh.show(ctx, "ls pools/*.yaml"); err != nil {
		return err
	}
	if err := s.sh.show(ctx, "cat "+masterFile); err != nil {
		return err
	}
	if err := s.makeToken(ctx); err != nil {
		return err
	}
	source := fmt.Sprintf("apiVersion: nodes.lailin.xyz/v1\nkind: NodePoolSource\nmetadata:\n  name: platform\n"+
		"spec:\n  url: %s/platform.git\n  ref: {branch: main}\n  path: pools\n  interval: %s\n  webhook: {secretRef: {name: push}}\n", s.git.url, s.git.interval())
	if s.git.private != nil {
		source += "  secretRef: {name: platform}\n"
	}
	if err := s.write("../source.yaml", source); err != nil {
		return err
	}
	if err := s.sh.show(ctx, "cat ../source.yaml && kubectl apply -f ../source.yaml"); err != nil {
		return err
	}
	if err := s.logIn(ctx); err != nil {
		return err
	}
	took, err := s.untilPools(ctx, time.Now())
	if err != nil {
		return err
	}
	if err := s.reportPushes(ctx); err != nil {
		return err
	}
	s.out.text("After %s, every node carries what its pools say. The ROLES column shows the pools; worker-01 is in two, and so are the nodes of the pool within gpu.", seconds(took))
	if err := s.sh.show(ctx, "kubectl get nodepools.nodes.lailin.xyz"); err != nil {
		return err
	}
	return s.sh.show(ctx, "kubectl get nodes")
}

// logIn shows what a source says whose credential is missing, and brings it. Where the
// repository is a folder there is none.
func (s *stage) logIn(ctx context.Context) error {
	if s.git.private == nil {
		return nil
	}
	_, err := until(ctx, time.Now(), "the source to say that its Secret does not exist", func(ctx context.Context) error {
		said := s.source(ctx)
		if !strings.Contains(said.Error(), "does not exist") {
			return fmt.Errorf("it says: %w", said)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.out.text("The repository is private: its server demands a token, and has a certificate of an authority that nobody knows. The source says what is missing:")
	if err := s.sh.show(ctx, "kubectl get nodepoolsources.nodes.lailin.xyz platform \\\n"+
		"    -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].message}' \\\n"+
		"    | fold -s -w 72; echo"); err != nil {
		return err
	}
	s.out.text("A Secret with the keys of Flux has both, and says where they may be sent:")
	namespace := manifests.DefaultNamespace
	if err := s.sh.show(ctx, "kubectl create secret generic platform -n "+namespace+" \\\n"+
		"    --from-literal=username="+gitUser+" --from-file=password=../token \\\n"+
		"    --from-file=../ca.crt"); err != nil {
		return err
	}
	return s.sh.show(ctx, "kubectl annotate secret platform -n "+namespace+" \\\n"+
		"    "+v1.URLPrefixAnnotation+"="+s.git.url)
}
