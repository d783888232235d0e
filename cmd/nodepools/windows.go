package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/cmd/nodepools/complete"
	"github.com/nodepools/nodepools/render/agenda"
	"github.com/nodepools/nodepools/render/folder"
)

const windowsLong = `Prints when something may change, why not now, and when it may next: of the
NodePoolSource in a file, when it may apply a new revision; of the pools in a folder
or a file, when nodes may follow a change of each that has windows or exclusions.
The openings are in the time zone of the windows, in UTC and in local time. No
cluster is needed.

A change of a pool also waits for the windows of the pools around it, and on each
node for those of stronger pools; each has openings of its own.

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
		Use:   "windows PATH",
		Short: "Print when a source or pools may change",
		Long:  windowsLong,
		Example: `  nodepools windows source.yaml

  # of each pool in a folder that has a rollout
  nodepools windows pools/

  # on Christmas Eve, and the three openings after it
  nodepools windows source.yaml --at 2026-12-24T12:00:00+01:00 --next 3`,
		Args:              oneArgument("PATH", "the file of a NodePoolSource, or a folder or file of pools", ""),
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
	subjects, err := o.subjects()
	if err != nil {
		return err
	}
	if len(subjects) == 0 {
		fmt.Fprintf(std.err, "no pool in %s has a rollout: nodes follow each change at once\n", o.path)
	}
	list := agenda.Of(subjects, o.at.moment, o.next, o.local)
	return o.output.writeDocument(std.out, list, list.WriteText)
}

// subjects are the source at the path, or the pools that have a rollout.
func (o *windowsOptions) subjects() ([]agenda.Subject, error) {
	source, err := folder.LoadSource(o.path)
	if err == nil {
		return []agenda.Subject{agenda.OfSource(source, o.path)}, nil
	}
	if none := (*folder.NoSourceError)(nil); !errors.As(err, &none) {
		return nil, err
	}
	pools, err := folder.Load(o.path)
	switch {
	case err != nil:
		return nil, err
	case len(pools.Definitions) == 0:
		return nil, pools.EmptyError()
	}
	var subjects []agenda.Subject
	for _, definition := range pools.Definitions {
		if definition.Pool.Spec.Rollout != nil {
			subjects = append(subjects, agenda.OfPool(definition.Pool, pools.File(definition)))
		}
	}
	return subjects, nil
}
