package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// startControllerManager starts kube-controller-manager the way a cluster runs
// it: each controller is a service account with the rights of its own role.
func (c *Cluster) startControllerManager(ctx context.Context, extra []string) error {
	args := append([]string{
		"--controllers=*,-nodeipam", // nodeipam wants a pod network to hand out
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + c.authority.keyFile,
		"--root-ca-file=" + c.authority.caFile,
		// Kubelets renew their leases four times in 40 s. A process that does so for all nodes
		// of a cluster may be behind for longer where the machine is busy, which is no failure
		// of nodes: they fail where a test says so, see [BrokenAnnotation].
		"--node-monitor-grace-period=10m",
	}, extra...)
	// Healthy comes early. The first service account shows that controllers work.
	return c.startComponent(ctx, "kube-controller-manager", "/healthz", args, func(ctx context.Context) error {
		client, err := kubernetes.NewForConfig(c.Config)
		if err != nil {
			return fmt.Errorf("make a client: %w", err)
		}
		_, err = client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("get the default service account: %w", err)
		}
		return nil
	})
}

// startScheduler starts kube-scheduler and waits until its caches are filled.
func (c *Cluster) startScheduler(ctx context.Context) error {
	health := "/readyz"
	old, err := c.Before(1, 31)
	if err != nil {
		return err
	}
	if old {
		health = "/healthz" // it says nothing of caches, and an earlier scheduler has no other
	}
	return c.startComponent(ctx, "kube-scheduler", health, nil, func(context.Context) error { return nil })
}

// startComponent starts a client of the API server which has a secure port of
// its own with a health check, under its usual user name, system:<name>.
func (c *Cluster) startComponent(ctx context.Context, name, health string, args []string, check func(context.Context) error) (err error) {
	config, err := c.AddUser("system:" + name)
	if err != nil {
		return err
	}
	kubeconfig, err := c.WriteKubeconfig(config)
	if err != nil {
		return err
	}
	port, err := reservePort()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, port.release()) }()

	p, err := c.start(name, append([]string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false", // there is one, and it need not wait for a lease
		// The usual limit would make the start take seconds longer.
		"--kube-api-qps=1000", "--kube-api-burst=1000",
		"--bind-address=127.0.0.1",
		"--secure-port=" + port.String(), "--permit-port-sharing",
		"--cert-dir=" + filepath.Join(c.dir, name),
		"--tls-cert-file=" + c.authority.tlsCert, "--tls-private-key-file=" + c.authority.tlsKey,
	}, args...)...)
	if err != nil {
		return err
	}
	itself := &rest.Config{Host: port.address(), TLSClientConfig: rest.TLSClientConfig{CAData: c.authority.caPEM}}
	return p.ready(ctx, func(ctx context.Context) error {
		if err := healthy(ctx, itself, health); err != nil {
			return err
		}
		return check(ctx)
	})
}
