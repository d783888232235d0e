package cluster

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
)

// kwokStages define what kwok does with nodes and pods.
//
//go:embed kwok.yaml
var kwokStages []byte

// KwokOptions define which nodes kwok simulates.
type KwokOptions struct {
	// NodeAnnotation limits kwok to nodes with this annotation, written
	// "kwok.x-k8s.io/node=fake". Empty means all nodes.
	NodeAnnotation string

	// LeaseSeconds is how long a node's lease lasts; kwok renews it four times
	// as often. 0 means 40, as kubelets have it. With thousands of nodes that
	// is most of what the API server does: make it longer, and give the
	// controller-manager a --node-monitor-grace-period to match.
	LeaseSeconds int
}

// BrokenAnnotation on a node makes kwok say that the node is not ready, as long as it is
// there.
const BrokenAnnotation = "kwok.example.com/broken"

// StartKwok starts kwok: nodes become Ready and stay so, and pods bound to them
// run, complete when they belong to a Job, and go when they are deleted.
func (c *Cluster) StartKwok(ctx context.Context, opts KwokOptions) error {
	config, err := c.AddUser("kwok", "system:masters")
	if err != nil {
		return err
	}
	kubeconfig, err := c.WriteKubeconfig(config)
	if err != nil {
		return err
	}
	stages := filepath.Join(c.dir, "kwok.yaml")
	if err := os.WriteFile(stages, kwokStages, 0o600); err != nil {
		return fmt.Errorf("write the stages of kwok: %w", err)
	}
	args := []string{
		"--kubeconfig=" + kubeconfig,
		"--config=" + stages,
		"--node-ip=127.0.0.1",
		fmt.Sprintf("--node-lease-duration-seconds=%d", cmp.Or(opts.LeaseSeconds, 40)),
	}
	if opts.NodeAnnotation == "" {
		args = append(args, "--manage-all-nodes")
	} else {
		args = append(args, "--manage-nodes-with-annotation-selector="+opts.NodeAnnotation)
	}

	// kwok cannot share a port, so it may lose the one that was free a moment
	// ago. Then it gets another.
	for tries := 3; ; tries-- {
		p, err := c.tryKwok(ctx, args)
		if err == nil {
			return nil
		}
		if p == nil || tries == 1 || !strings.Contains(p.tail(), "address already in use") {
			return err
		}
	}
}

// tryKwok starts kwok once. It answers on its port after it has taken up work.
func (c *Cluster) tryKwok(ctx context.Context, args []string) (*process, error) {
	port, err := reservePort()
	if err != nil {
		return nil, err
	}
	if err := port.release(); err != nil {
		return nil, err
	}
	address := "127.0.0.1:" + port.String()
	p, err := c.start("kwok", append(args, "--server-address="+address)...)
	if err != nil {
		return nil, err
	}
	err = p.ready(ctx, func(ctx context.Context) error {
		return healthy(ctx, &rest.Config{Host: "http://" + address}, "/healthz")
	})
	if err != nil {
		return p, errors.Join(err, p.stop())
	}
	return p, nil
}
