package main

import (
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/api/build"
	"github.com/nodepools/nodepools/render/output"
)

// Both are set by -ldflags "-X main.version=v1.2.3 -X main.sourceCommit=0123abcd": the
// version when a release is built, and the commit where git is not there to tell
// it, as in an image. It ends in -dirty where the working copy differed from it.
var version, sourceCommit string

func newVersion(std streams) *cobra.Command {
	var o outputFlags
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Prints the version, the commit that it was built from, the version of Go and\nthe platform.",
		Example: `  nodepools version

  # the version alone
  nodepools version -o json | jq -r .version`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: work(exitFailed, func(*cobra.Command, []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return printVersion(std, &o)
		}),
	}
	o.register(cmd, "text", "json", "yaml")
	return cmd
}

// printVersion is what both version and --version do.
func printVersion(std streams, o *outputFlags) error {
	info := builtFrom()
	return o.writeDocument(std.out, info.Report(), func(w io.Writer) error { return output.Print(w, []byte(info.String())) })
}

// builtFrom is what is known of this binary.
func builtFrom() build.Info { return build.Read(version, sourceCommit, debug.ReadBuildInfo) }
