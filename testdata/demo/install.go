package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// install applies what nodepools install prints, and starts the controller
// beside the cluster with the rights that it would have inside.
func install(ctx context.Context, s *stage) error {
	s.out.text("nodepools install prints all that an administrator applies. There are no containers on this cluster, so all but the Deployment is applied, and the controller is a process of its own, with the token of its ServiceAccount and no other rights than its RBAC gives.")
	manifests, err := s.sh.run(ctx, "nodepools install --image registry.example.com/nodepools:demo")
	if err != nil {
		return fmt.Errorf("%w\n%s", err, manifests)
	}
	kept, account, err := withoutDeployment(manifests)
	if err != nil {
		return err
	}
	if err := s.write("../install.yaml", kept); err != nil {
		return err
	}
	if err := s.sh.show(ctx, "kubectl apply --server-side -f ../install.yaml -o name"); err != nil {
		return err
	}
	if err := s.sh.quietly(ctx, "kubectl wait --for=condition=Established --timeout=30s crd/nodepools.nodes.lailin.xyz crd/nodepoolsources.nodes.lailin.xyz"); err != nil {
		return err
	}
	_, kubeconfig, err := s.cluster.ServiceAccount(ctx, account.Namespace, account.Name)
	if err != nil {
		return err
	}
	if err := os.Rename(kubeconfig, filepath.Join(s.sh.dir, "..", "controller.kubeconfig")); err != nil {
		return err
	}
	// The usual ports may be in use on this machine.
	s.out.command("nodepools run --kubeconfig ../controller.kubeconfig \\\n" +
		"    --metrics-bind-address 0 --health-probe-bind-address 0 &")
	s.controller, err = startController(s.program, s.sh.dir, filepath.Join(s.dir, "controller.log"), []string{
		"run", "--kubeconfig", "../controller.kubeconfig", "--metrics-bind-address", "0", "--health-probe-bind-address", "0",
	}, s.sh.env, s.gone)
	return err
}

var documentEnd = regexp.MustCompile(`(?m)^---\n`)

// withoutDeployment takes the Deployment out of what install prints, and returns
// the ServiceAccount that it runs as.
func withoutDeployment(manifests string) (string, *corev1.ServiceAccount, error) {
	var kept []string
	account := &corev1.ServiceAccount{}
	for _, document := range documentEnd.Split(manifests, -1) {
		var object struct {
			Kind string `json:"kind"`
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return "", nil, fmt.Errorf("read what nodepools install prints: %w", err)
		}
		switch object.Kind {
		case "Deployment":
			continue
		case "ServiceAccount":
			if err := yaml.Unmarshal([]byte(document), account); err != nil {
				return "", nil, fmt.Errorf("read the ServiceAccount: %w", err)
			}
		}
		kept = append(kept, document)
	}
	if account.Name == "" {
		return "", nil, errors.New("nodepools install prints no ServiceAccount")
	}
	return strings.Join(kept, "---\n"), account, nil
}
