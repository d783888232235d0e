package main

import (
	"bytes"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodepools/nodepools/cmd/nodepools/complete"
	"github.com/nodepools/nodepools/render/agenda"
	"github.com/nodepools/nodepools/render/folder"
	"github.com/nodepools/nodepools/render/output"
)

const windowsLong = `Prints of each pool in a folder, or in one file, whether its nodes may change,
why not, and when they may next: the openings that follow from spec.rollout, in
the time zone of the windows, in UTC and in local time. PATH may also be the file
of a NodePoolSource: then it is about new revisions. No cluster is needed.

Windows that overlap or touch are one opening, and exclusions go before them. A
start that clocks skip happens when the skipped hour is over, one that they
repeat happens twice, and a duration is time that passes. An opening that has
begun starts at the time that is asked about. One that closes at - stays open for
more than 400 days. A window of a zone that is not known never opens.

The controller waits for the windows of sources. It does not hold nodes back by
those of pools yet.

Formats are text, json (apiVersion windows.nodes.lailin.xyz/v1, kind Windows; each
moment as inZone, utc and local) and yaml.`

func newWindows(std streams) *cobra.Command {
	o := windowsOptions{local: time.Local}
	cmd := &cobra.Command{
		Use:   "windows PATH",
		Short: "Print when pools may change",
		Long:  windowsLong,
		Example: `  nodepools windows pools/

  # on Christmas Eve, and the three openings after it
  nodepools windows pools/ --at 2026-12-24T12:00:00+01:00 --next 3

  # when a source may apply a new revision
  nodepools windows source.yaml`,
		Args:              onePath,
		ValidArgsFunction: complete.PoolPath,
		RunE: work(exitFailed, func(_ *cobra.Command, args []string) error {
			o.path = args[0]
			if o.next < 1 || o.next > maxOpenings {
				return usagef("--next must be a number from 1 to %d", maxOpenings)
			}
			if err := o.layers.check(); err != nil {
				return err
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
	o.layers.register(cmd, "`folder` in PATH that is read, and changes what those before it say; repeat it for each (default: all of PATH)")
	o.output.register(cmd, "text", "json", "yaml")
	return cmd
}

// maxOpenings bounds what one command prints of a pool.
const maxOpenings = 1000

type windowsOptions struct {
	path   string
	at     atFlag
	next   int
	layers layers
	output outputFlags
	// local is the zone of who reads it.
	local *time.Location
}

func (o *windowsOptions) run(std streams) error {
	subjects, err := o.subjects()
	if err != nil {
		return err
	}
	list := agenda.Of(subjects, o.at.moment, o.next, o.local)
	var text bytes.Buffer
	if o.output.format == "text" {
		if err := list.WriteText(&text); err != nil {
			return err
		}
		return o.output.write(std.out, text.Bytes())
	}
	document, err := output.Marshal(o.output.format, list)
	if err != nil {
		return err
	}
	return o.output.write(std.out, document)
}

// subjects are the pools in PATH, or the source that the file is of.
func (o *windowsOptions) subjects() ([]agenda.Subject, error) {
	if source, err := folder.LoadSource(o.path); err != nil {
		return nil, err
	} else if source != nil {
		return []agenda.Subject{agenda.OfSource(source, o.path)}, nil
	}
	files, err := loadPools(o.path, o.layers...)
	if err != nil {
		return nil, err
	}
	if len(files.Definitions) == 0 {
		return nil, files.EmptyError()
	}
	var subjects []agenda.Subject
	for _, definition := range files.Definitions {
		subjects = append(subjects, agenda.OfPool(definition.Pool, definition.File))
	}
	return subjects, nil
}
