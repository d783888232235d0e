package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nodepools/nodepools/testdata/program"
)

// install applies what nodepools install prints, and starts the controller
// beside the cluster with the rights that it would have inside.
func install(ctx context.Context, s *stage) error {
	s.out.text("nodepools install prints all that an administrator applies. There are no containers on this cluster, so all but the Deployment is applied, and the controller is a process of its own, with the token of its ServiceAccount and no other rights than its RBAC gives.")
	manifests, err := s.sh.run(ctx, "nodepools install --webhook --image registry.example.com/nodepools:demo")
	if err != nil {
		return fmt.Errorf("%w\n%s", err, manifests)
	}
	installed, err := program.ReadInstallation(manifests)
	if err != nil {
		return err
	}
	if err := s.write("../install.yaml", installed.Manifests); err != nil {
		return err
	}
	if err := s.sh.show(ctx, "kubectl apply --server-side -f ../install.yaml -o name"); err != nil {
		return err
	}
	if err := s.sh.quietly(ctx, "kubectl wait --for=condition=Established --timeout=30s crd/nodepools.nodes.lailin.xyz crd/nodepoolsources.nodes.lailin.xyz"); err != nil {
		return err
	}
	_, kubeconfig, err := s.cluster.ServiceAccount(ctx, installed.Account.Namespace, installed.Account.Name)
	if err != nil {
		return err
	}
	if err := os.Rename(kubeconfig, filepath.Join(s.sh.dir, "..", "controller.kubeconfig")); err != nil {
		return err
	}
	// The usual ports may be in use on this machine.
	s.out.command("nodepools run --kubeconfig ../controller.kubeconfig \\\n" +
		"    --metrics-bind-address 0 --health-probe-bind-address 0 \\\n" +
		"    --webhook-bind-address 127.0.0.1:0 &")
	s.controller, err = program.Start(s.program, s.sh.dir, s.controllerLogFile(), []string{
		"run", "--kubeconfig", "../controller.kubeconfig", "--metrics-bind-address", "0", "--health-probe-bind-address", "0",
		"--webhook-bind-address", "127.0.0.1:0",
	}, s.sh.env, s.gone)
	return err
}
