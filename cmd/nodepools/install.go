package main

import (
	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/api/build"
	"github.com/nodepools/nodepools/api/manifests"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
	"github.com/nodepools/nodepools/render/output"
)

const installLong = `Prints all that an administrator applies to a cluster, as YAML: the custom
resource definitions, the namespace, the service account with the least rights
that work, an admission policy, and the Deployment. Nothing is sent to a
cluster. Applying it again, or that of a later version, upgrades.

By the admission policy only the controller and cluster administrators write
labels and annotations of nodes under nodes.lailin.xyz/, so that no node can
make the controller take a taint off it. --crds-only does not print it.

The controller runs as two replicas, of which one works. They tolerate every
taint, because the taints that pools put on nodes must not drive out the
controller that can take them off again; they move from a node that is lost
after 30 seconds. They prefer control-plane nodes where there are any.

--create-namespace=false leaves the namespace out, for one that exists already
and that others use as well: it is not held to a pod security standard then, and
deleting what is printed does not delete what others have there.

--webhook lets Git servers report pushes, so that they are followed at once: the
Deployment listens for that, and there are a Service for an Ingress to lead to,
and a NetworkPolicy by which nothing else is reached from outside.

--rollout lets the controller list and evict pods, for pools with rollout.drain:
pods are evicted, as their PodDisruptionBudgets allow, before a node gets a
NoExecute taint. It reads and touches no pod otherwise.

Metrics are served by TLS, to those alone who are bound to the ClusterRole
nodepools-metrics-reader; the controller may ask the API server who that is.
With --metrics plain or none it gets no such right.

--viewer prints something else: a service account, in the same namespace, with a
role that may list what 'nodepools diff' and 'nodepools inventory' read. It may
write nothing, and read no Secret.`

func newInstall(std streams) *cobra.Command {
	o := installOptions{build: builtFrom()}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Print the manifests that install the controller",
		Long:  installLong,
		Example: `  # with an image of your own
  nodepools install --image registry.example.com/nodepools:v1 \
    | kubectl apply --server-side -f -

  # read it before
  nodepools install --image registry.example.com/nodepools:v1 \
    | kubectl diff --server-side -f -

  # to run the controller elsewhere, or to try it from a laptop
  nodepools install --crds-only | kubectl apply --server-side -f -

  # followed at once when something is pushed
  nodepools install --webhook \
    --image registry.example.com/nodepools:v1 | kubectl apply --server-side -f -

  # for a CI job that runs diff or inventory, and a token for it
  nodepools install --viewer | kubectl apply --server-side -f -
  kubectl create token nodepools-viewer --namespace nodepools-system`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: work(exitFailed, func(cmd *cobra.Command, _ []string) error {
			if err := o.check(cmd.Flags().Changed); err != nil {
				return err
			}
			return o.run(std)
		}),
	}
	o.register(cmd)
	return cmd
}

func (o *installOptions) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&o.crdsOnly, "crds-only", false, "print the custom resource definitions alone")
	flags.BoolVar(&o.viewer, "viewer", false, "print a service account that may only read, for a CI job")
	flags.BoolVar(&o.createNamespace, "create-namespace", true, "print the namespace as well")
	flags.BoolVar(&o.options.Webhook, "webhook", false, "receive webhooks of Git servers, and add the Service for them")
	flags.BoolVar(&o.options.Rollout, "rollout", false, "let the controller list and evict pods, for rollout.drain")
	flags.StringVar((*string)(&o.options.Metrics), "metrics", string(manifests.SecureMetrics), "`way` to serve metrics: secure (by TLS, to who may read them), plain or none")
	flags.StringVar(&o.options.Image, "image", manifests.DefaultRepository+":"+o.build.ImageTag(), "`name` of the controller's image")
	flags.StringVar(&o.options.Namespace, "namespace", manifests.DefaultNamespace, "`name` of the controller's namespace")
	complete.Flag(cmd, "image", complete.Nothing)
	complete.Flag(cmd, "namespace", complete.Nothing)
	complete.Flag(cmd, "metrics", complete.Fixed("secure", "plain", "none"))
	o.output.register(cmd, objectFormats...)
}

type installOptions struct {
	crdsOnly, viewer, createNamespace bool
	options                           manifests.Options
	output                            outputFlags
	build                             build.Info
	// givenImage says that the user named the image.
	givenImage bool
}

// check refuses values that no cluster would take.
func (o *installOptions) check(changed func(flag string) bool) error {
	for _, flag := range []string{"image", "namespace", "create-namespace", "webhook", "rollout", "metrics"} {
		if o.crdsOnly && changed(flag) {
			return usagef("--%s cannot be combined with --crds-only", flag)
		}
	}
	for _, flag := range []string{"image", "crds-only", "create-namespace", "webhook", "rollout", "metrics"} {
		if o.viewer && changed(flag) {
			return usagef("--%s cannot be combined with --viewer", flag)
		}
	}
	if err := o.output.check(); err != nil {
		return err
	}
	if err := o.options.Validate(); err != nil {
		return usagef("--%w", err) // each option is a flag of the same name
	}
	o.givenImage, o.options.ExistingNamespace = changed("image"), !o.createNamespace
	return nil
}

func (o *installOptions) run(std streams) error {
	objects, err := o.objects()
	if err != nil {
		return err
	}
	if !o.viewer && !o.crdsOnly && !o.givenImage && !o.build.Released() {
		std.note("this is a development build, and %s may not have been published: name yours with --image", o.options.Image)
	}
	document, err := output.MarshalObjects(o.output.format, objects...)
	if err != nil {
		return err
	}
	return o.output.write(std.out, document)
}

// objects returns what was asked for, in the order in which it is applied.
func (o *installOptions) objects() ([]manifests.Object, error) {
	switch {
	case o.viewer:
		return manifests.Viewer(o.options.Namespace), nil
	case o.crdsOnly:
		return manifests.CRDs()
	default:
		return manifests.All(o.options)
	}
}
