package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// auditPolicy logs every request when it arrives and when it has been answered,
// so that a write is logged before it can have an effect.
//
//go:embed audit-policy.yaml
var auditPolicy []byte

// startAPIServer starts etcd and kube-apiserver and fills in Config.
func (c *Cluster) startAPIServer(ctx context.Context, opts Options) (err error) {
	if c.authority, err = newAuthority(c.dir); err != nil {
		return err
	}
	if c.etcd, err = c.startEtcd(); err != nil {
		return err
	}
	if c.port, err = reservePort(); err != nil {
		return err
	}
	if c.common, err = c.apiServerArgs(opts); err != nil {
		return err
	}
	c.Config = &rest.Config{
		Host:            c.port.address(),
		TLSClientConfig: rest.TLSClientConfig{CAData: c.authority.caPEM},
		QPS:             -1, // unlimited
		UserAgent:       "nodepools-test",
	}
	if c.Config, err = c.AddUser("admin", "system:masters"); err != nil {
		return err
	}
	if c.kubeconfig, err = c.WriteKubeconfig(c.Config); err != nil {
		return err
	}
	p, err := c.start(apiServer, c.argsAt(c.port, c.etcd)...)
	if err != nil {
		return err
	}
	return p.ready(ctx, c.serving)
}

const apiServer = "kube-apiserver"

// argsAt are the arguments of an API server that listens at a port.
func (c *Cluster) argsAt(p *port, etcd string) []string {
	return append([]string{"--etcd-servers=" + etcd, "--secure-port=" + p.String(), "--permit-port-sharing"}, c.common...)
}

// apiServerArgs are the arguments that all API servers of the cluster have.
func (c *Cluster) apiServerArgs(opts Options) ([]string, error) {
	args := []string{
		"--bind-address=127.0.0.1",
		// Nobody reaches the API server through the kubernetes Service, and a
		// loopback address is not a legal endpoint.
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--cert-dir=" + c.dir,
		"--tls-cert-file=" + c.authority.tlsCert, "--tls-private-key-file=" + c.authority.tlsKey,
		"--client-ca-file=" + c.authority.caFile,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.authority.keyFile,
		"--service-account-signing-key-file=" + c.authority.keyFile,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		// It refuses pods until the controller-manager has made the default
		// service account of their namespace: a race in every test with pods.
		"--disable-admission-plugins=ServiceAccount",
		"--allow-privileged=true",
	}
	if opts.Audit {
		policy := filepath.Join(c.dir, "audit-policy.yaml")
		if err := os.WriteFile(policy, auditPolicy, 0o600); err != nil {
			return nil, fmt.Errorf("write the audit policy: %w", err)
		}
		c.auditLog = filepath.Join(c.dir, "audit.log")
		// An API server appends to a file that is there, entry by entry: so several
		// write into one, in the order in which they were asked.
		if err := os.WriteFile(c.auditLog, nil, 0o600); err != nil {
			return nil, fmt.Errorf("create the audit log: %w", err)
		}
		// Blocking: an entry is in the file before the request goes on. The
		// size, in MiB, keeps the file from being rotated away.
		args = append(args, "--audit-policy-file="+policy, "--audit-log-path="+c.auditLog,
			"--audit-log-mode=blocking", "--audit-log-maxsize=100000")
	}
	return append(args, opts.APIServerArgs...), nil
}

// serving returns nil when the API server is ready and has created the system
// namespaces, which it does shortly after it reports ready.
func (c *Cluster) serving(ctx context.Context) error { return serving(ctx, c.Config) }

func serving(ctx context.Context, config *rest.Config) error {
	if err := healthy(ctx, config, "/readyz"); err != nil {
		return err
	}
	// Without etcd the API server lets requests wait for a minute.
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	for _, namespace := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, "kube-node-lease"} {
		if _, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{}); err != nil {
			return fmt.Errorf("get namespace %s: %w", namespace, err)
		}
	}
	return nil
}

// startEtcd starts etcd on a socket in the cluster's folder, which needs no
// port, and returns its URL. The API server waits for it.
func (c *Cluster) startEtcd() (string, error) {
	client := "unix://" + filepath.Join(c.dir, "etcd.sock")
	peer := "unix://" + filepath.Join(c.dir, "peer.sock")
	_, err := c.start("etcd",
		"--name=default",
		"--data-dir="+c.etcdData(),
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer,
		"--initial-cluster=default="+peer,
		// The data need not survive a power cut.
		"--unsafe-no-fsync",
		"--logger=zap", "--log-level=warn",
	)
	return client, err
}

// healthy returns nil when GET path answers 200.
func healthy(ctx context.Context, config *rest.Config, path string) error {
	config = rest.CopyConfig(config)
	config.Timeout = 5 * time.Second
	client, err := rest.UnversionedRESTClientFor(withCodec(config))
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	if err := client.Get().AbsPath(path).Do(ctx).Error(); err != nil {
		return fmt.Errorf("ask %s%s: %w", config.Host, path, err)
	}
	return nil
}
