package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/nodepools/nodepools/api/build"
	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/api/manifests"
	"github.com/nodepools/nodepools/apply/connect"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/apply/daemon"
	"github.com/nodepools/nodepools/apply/logging"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

func newRun(std streams) *cobra.Command {
	o := runOptions{build: builtFrom()}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the controller",
		Long: `Runs the controller until it is stopped: it follows the Git repositories
that NodePoolSources name, and brings nodes and RuntimeClasses to what the pools
say. In a cluster it is started by the Deployment that 'nodepools install'
prints.

It reaches the cluster by --kubeconfig, else by KUBECONFIG, else by
~/.kube/config, else, without --context, as a pod of the cluster. Logs go to
standard error. SIGINT or SIGTERM stops it after the writes that are under way;
a second one at once.

Of several instances one works: the one that holds the lease nodepools, in the
namespace of the pod, else in nodepools-system. Where that lease cannot be had,
for want of rights or of the namespace, the log says so, and nothing keeps
another instance from working as well. Without the admission policies that
'nodepools install' prints, a kubelet can forge the record of its own node; where
no lease is asked for, the log names the policies that are missing.

With --webhook-bind-address, Git servers report pushes to sources that have
spec.webhook, by requests signed with the token of the source. Such a request
causes a poll, one in two seconds at the most, and nothing else. Every instance
receives, also one that does not hold the lease.

Metrics for Prometheus are at /metrics. At any address but a loopback one they
are served by TLS, and to those alone whose token of the cluster has the right to
get the path /metrics; what that takes of rights is in what 'nodepools install'
prints. Profiles of the process, of --pprof-bind-address, are served to whoever
can connect.`,
		Example: `  # from a laptop, against the cluster of the current context
  nodepools install --crds-only | kubectl apply --server-side -f -
  nodepools run

  # against another cluster of the kubeconfig file
  nodepools run --context staging

  # two at a time, of which one works
  nodepools run --leader-elect \
    --leader-election-namespace nodepools-system`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: work(exitFailed, func(cmd *cobra.Command, _ []string) error {
			o.leaderElectSet = cmd.Flags().Changed("leader-elect")
			o.metrics.secureSet = cmd.Flags().Changed("metrics-secure")
			// An empty variable in a script must not lead to another cluster.
			if cmd.Flags().Changed("context") && o.context == "" {
				return usagef("--context is empty: give it a value, or leave it out")
			}
			if err := o.check(); err != nil {
				return err
			}
			return o.run(cmd.Context(), std)
		}),
	}
	o.register(cmd)
	return cmd
}

func (o *runOptions) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	registerKubeconfig(cmd, &o.kubeconfig, &o.context)
	o.registerMetrics(cmd)
	flags.StringVar(&o.healthAddress, "health-probe-bind-address", ":8081", "`address` of /healthz and /readyz; 0 for none")
	flags.StringVar(&o.webhookAddress, "webhook-bind-address", "", "`address` at which Git servers report pushes, such as :9292 (default: none)")
	flags.StringVar(&o.webhookCertFile, "webhook-cert-file", "", "`file` of a certificate, to receive these by TLS")
	flags.StringVar(&o.webhookKeyFile, "webhook-key-file", "", "`file` of the key of that certificate")
	flags.BoolVar(&o.leaderElect, "leader-elect", true, "work only while holding the shared lease; left out, where that can be had, and set, nowhere else")
	flags.StringVar(&o.leaseNamespace, "leader-election-namespace", "", "`name` of the namespace of the lease (default: that of the pod, else "+manifests.DefaultNamespace+")")
	flags.StringVar(&o.namespace, "namespace", "", "`name` of the namespace of the Secrets that sources name (default: that of the pod, else "+manifests.DefaultNamespace+")")
	flags.IntVar(&o.concurrency, "concurrency", controller.DefaultConcurrency, "`number` of nodes written at once")
	flags.StringVar(&o.logLevel, "log-level", "info", "`level` of the log: debug, info or error")
	flags.StringVar(&o.logFormat, "log-format", "text", "`format` of the log: text or json")
	complete.Flag(cmd, "log-level", complete.Fixed(logging.Levels()...))
	complete.Flag(cmd, "log-format", complete.Fixed(logging.Formats()...))
	complete.Flag(cmd, "webhook-cert-file", complete.Files("crt", "pem"))
	complete.Flag(cmd, "webhook-key-file", complete.Files("key", "pem"))
	for _, flag := range []string{"health-probe-bind-address", "webhook-bind-address", "leader-election-namespace", "namespace", "concurrency"} {
		complete.Flag(cmd, flag, complete.Nothing)
	}
}

type runOptions struct {
	kubeconfig, context string
	metrics             metricsOptions
	healthAddress       string
	webhookAddress      string
	// webhookCertFile and webhookKeyFile are both given, or neither is.
	webhookCertFile, webhookKeyFile string
	// leaderElectSet is set when the flag is given.
	leaderElect, leaderElectSet bool
	leaseNamespace, namespace   string
	concurrency                 int
	logLevel, logFormat         string
	build                       build.Info
}

func (o *runOptions) check() error {
	if o.concurrency < 1 {
		return usagef("--concurrency must be at least 1, and is %d", o.concurrency)
	}
	if o.leaseNamespace != "" && !o.leaderElect {
		return usagef("--leader-election-namespace requires --leader-elect")
	}
	for flag, address := range map[string]string{"--metrics-bind-address": o.metrics.address, "--health-probe-bind-address": o.healthAddress} {
		if _, _, err := net.SplitHostPort(address); err != nil && address != "0" {
			return usagef("%s %q is not an address such as :8080 or 127.0.0.1:8080, and not 0", flag, address)
		}
	}
	if err := o.metrics.check(); err != nil {
		return err
	}
	if err := o.checkWebhook(); err != nil {
		return err
	}
	return o.checkLogging()
}

// checkWebhook refuses flags of a receiver that belong together and are not.
func (o *runOptions) checkWebhook() error {
	if o.webhookAddress != "" {
		if _, _, err := net.SplitHostPort(o.webhookAddress); err != nil {
			return usagef("--webhook-bind-address %q is not an address such as :9292 or 127.0.0.1:9292", o.webhookAddress)
		}
	}
	if (o.webhookCertFile == "") != (o.webhookKeyFile == "") {
		return usagef("--webhook-cert-file and --webhook-key-file require each other")
	}
	if o.webhookCertFile != "" && o.webhookAddress == "" {
		return usagef("--webhook-cert-file requires --webhook-bind-address")
	}
	return nil
}

// checkLogging refuses a level or a format that there is not.
func (o *runOptions) checkLogging() error {
	if levels := logging.Levels(); !slices.Contains(levels, o.logLevel) {
		return usagef("--log-level %q is not known: must be %s", o.logLevel, oneOf(levels))
	}
	if formats := logging.Formats(); !slices.Contains(formats, o.logFormat) {
		return usagef("--log-format %q is not known: must be %s", o.logFormat, oneOf(formats))
	}
	return nil
}

// run works until the context ends or a signal comes. The first signal stops
// the loops; from then on signals do again what they do by default, so that the
// second one ends the process.
func (o *runOptions) run(ctx context.Context, std streams) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	defer stop()

	boundHeap()
	if err := boundSilence(); err != nil {
		return err
	}
	logger := logging.Summed(logging.New(std.err, o.logLevel, o.logFormat))
	logging.Use(logger)
	config, err := o.config()
	if err != nil {
		return err
	}
	health, err := daemon.ServeHealth(ctx, o.healthAddress)
	if err != nil {
		return listenHint(err)
	}
	lease, err := o.begin(ctx, config, logger)
	if err != nil {
		if ctx.Err() != nil {
			return nil // stopped before it began
		}
		return err
	}
	// A Deployment says --leader-elect, and comes with the policies.
	if !o.leaderElectSet {
		if missing := missingPolicies(ctx, config); len(missing) > 0 {
			logger.Info("admission policies are missing: a kubelet can forge the record of its own node, or pause that node, and no other; 'nodepools install' prints the policies", "missing", strings.Join(missing, ", "))
		}
	}
	namespace, err := o.secretNamespace()
	if err != nil {
		return err
	}
	logger.Info("starting", "version", o.build.Version, "server", connect.ServerName(config))
	err = daemon.Run(ctx, daemon.Options{
		Config: config, Server: connect.ServerName(config),
		Lease:       lease,
		Namespace:   namespace,
		Concurrency: o.concurrency, Metrics: o.metrics.served(o.build), Health: health, PprofAddress: o.metrics.pprof(),
		WebhookAddress: o.webhookAddress, WebhookCertFile: o.webhookCertFile, WebhookKeyFile: o.webhookKeyFile,
		Logger: logger,
	})
	if errors.Is(err, daemon.ErrReplace) {
		signal.Reset(os.Interrupt, syscall.SIGTERM) // one that comes from now on ends the process
		if ctx.Err() == nil {
			return &outcome{code: exitReplace}
		}
	} else if err != nil {
		return listenHint(err)
	}
	logger.Info("stopped")
	return nil
}

// begin returns the lease to work under when the API server serves our kinds, for which it
// waits.
func (o *runOptions) begin(ctx context.Context, config *rest.Config, logger logr.Logger) (lease *daemon.Lease, err error) {
	served := func(ctx context.Context) error {
		if err := demandNodePools(ctx, config); err != nil {
			return err
		}
		lease, err = o.lease(ctx, config, func(why error) {
			logger.Info("works without a lease: run one instance at a time, or name with --leader-election-namespace where there is one", "why", why.Error())
		})
		return err
	}
	err = daemon.AwaitServed(ctx, served, func(err error) {
		logger.Error(err, "the API server does not answer: the controller starts when it does", "server", connect.ServerName(config))
	})
	return lease, err
}

// secretNamespace is where the Secrets are that sources name.
func (o *runOptions) secretNamespace() (string, error) {
	if o.namespace != "" {
		return o.namespace, nil
	}
	namespace, err := daemon.PodNamespace()
	if errors.Is(err, daemon.ErrNoPod) {
		return manifests.DefaultNamespace, nil
	}
	return namespace, err
}

// listenHint names the flag that moves a listener to where it may listen.
func listenHint(err error) error {
	if failed := (*daemon.ListenError)(nil); errors.As(err, &failed) {
		flag := "--metrics-bind-address"
		switch failed.Listener {
		case daemon.HealthListener:
			flag = "--health-probe-bind-address"
		case daemon.WebhookListener:
			return hint.Add(err, "name another address with --webhook-bind-address, or leave it out for none")
		case daemon.PprofListener:
			return hint.Add(err, "name another address with --pprof-bind-address, or leave it out for none")
		case daemon.MetricsListener:
		}
		return hint.Add(err, "name another address with "+flag+", or 0 for none")
	}
	return err
}
