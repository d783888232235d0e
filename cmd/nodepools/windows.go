package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/cmd/nodepools/complete"
	"github.com/nodepools/nodepools/render/agenda"
	"github.com/nodepools/nodepools/render/folder"
)

const windowsLong = `Prints of the NodePoolSource in a file whether it may apply a new revision, why
not, and when it may next: the openings that follow from its windows and
exclusions, in the time zone of the windows, in UTC and in local time. No
cluster is needed.

Windows that overlap or touch are one opening, and exclusions go before them. A
start that clocks skip happens when the skipped hour is over, one that they
repeat happens twice, and a duration is time that passes. An opening that has
begun starts at the time that is asked about. One that closes at - stays open for
more than 400 days. A window of a zone that is not known never opens.

Formats are text, json (apiVersion windows.nodes.lailin.xyz/v1, kind Windows; each
moment as inZone, utc and local) and yaml.`

func newWindows(std streams) *cobra.Command {
	o := windowsOptions{local: time.Local}
	cmd := &cobra.Command{
		Use:   "windows FILE",
		Short: "Print when a source may apply a new revision",
		Long:  windowsLong,
		Example: `  nodepools windows source.yaml

  # on Christmas Eve, and the three openings after it
  nodepools windows source.yaml --at 2026-12-24T12:00:00+01:00 --next 3`,
		Args:              oneArgument("FILE", "the file of a NodePoolSource", ""),
		ValidArgsFunction: complete.OnlyFirst(complete.Files("yaml", "yml", "json")),
		RunE: work(exitFailed, func(_ *cobra.Command, args []string) error {
			o.path = args[0]
			if o.next < 1 || o.next > maxOpenings {
				return usagef("--next must be a number from 1 to %d", maxOpenings)
			}
			if err := o.output.check(); err != nil {
				return err
			}
			return o.run(std)
		}),
	}
	o.at.register(cmd)
	cmd.Flags().IntVar(&o.next, "next", 10, "`number` of openings of each, from 1 to 1000")
	complete.Flag(cmd, "next", complete.Nothing)
	o.output.register(cmd, "text", "json", "yaml")
	return cmd
}

// maxOpenings bounds what one command prints.
const maxOpenings = 1000

type windowsOptions struct {
	path   string
	at     atFlag
	next   int
	output outputFlags
	// local is the zone of who reads it.
	local *time.Location
}

func (o *windowsOptions) run(std streams) error {
	source, err := folder.LoadSource(o.path)
	if err != nil {
		return err
	}
	list := agenda.Of([]agenda.Subject{agenda.OfSource(source, o.path)}, o.at.moment, o.next, o.local)
	return o.output.writeDocument(std.out, list, list.WriteText)
}
