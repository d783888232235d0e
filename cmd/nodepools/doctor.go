package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/api/build"
	"github.com/nodepools/nodepools/api/manifests"
	"github.com/nodepools/nodepools/apply/doctor"
	"github.com/nodepools/nodepools/apply/doctor/examine"
	"github.com/nodepools/nodepools/cmd/nodepools/complete"
)

func newDoctor(std streams) *cobra.Command {
	o := doctorOptions{build: builtFrom()}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check an installation, and say what to do about what is wrong",
		Long: `Checks what an administrator would check when nodepools does not work: the
custom resource definitions and their version, the admission policies, the
rights of the controller, its Deployment, its lease, its metrics, the versions,
and each source, pool and node: conflicts, keys that somebody else keeps
changing, records that cannot be read, and nodes that carry what pools have put
there that do not exist any more. Nothing is written. What this user may not
read is reported as unknown.

Text has one line for each finding, broken where it is longer than a terminal,
and below it what to do. -o yaml and -o json print the same, in fields that
stay: cluster, healthy and findings (severity, check, object, message, action).
A severity is ok, note, unknown or problem.

The exit code is 0 when nothing is wrong, 1 when something is, and above 1 when
the cluster could not be read or the command line is wrong.`,
		Example: `  nodepools doctor

  # installed in another namespace of another cluster
  nodepools doctor --context staging --namespace node-pools

  # what is wrong, for a script
  nodepools doctor -o json \
    | jq '.findings[] | select(.severity == "problem")'`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: work(exitUsage, func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return o.run(cmd.Context(), std)
		}),
	}
	cmd.Flags().StringVar(&o.namespace, "namespace", manifests.DefaultNamespace, "`name` of the controller's namespace")
	complete.Flag(cmd, "namespace", complete.Nothing)
	o.output.register(cmd, "text", "json", "yaml")
	o.cluster.register(cmd)
	return cmd
}

type doctorOptions struct {
	namespace string
	output    outputFlags
	cluster   clusterFlags
	build     build.Info
}

func (o *doctorOptions) check() error {
	if o.namespace == "" {
		return usagef("--namespace is empty: name the one of the controller")
	}
	if err := (manifests.Options{Namespace: o.namespace, Image: manifests.DefaultRepository}).Validate(); err != nil {
		return usagef("--%w", err) // it stands in the commands that are printed
	}
	if err := o.output.check(); err != nil {
		return err
	}
	return o.cluster.check()
}

// run prints the report. That something is wrong is an exit code, and no error.
func (o *doctorOptions) run(ctx context.Context, std streams) error {
	server, err := o.cluster.server()
	if err != nil {
		return err
	}
	state, err := examine.Read(ctx, server, o.namespace, o.cluster.timeout)
	if err != nil {
		return err
	}
	state.Version = o.build.Version
	if o.build.Released() {
		state.Tag = o.build.ImageTag()
	}
	report := doctor.Examine(state)
	if err := o.output.writeDocument(std.out, report, report.WriteText); err != nil {
		return err
	}
	if !report.Healthy {
		return &outcome{code: exitFailed}
	}
	return nil
}
