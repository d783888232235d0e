package uninstall

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/api/wrap"
)

// shown is how many names are written out.
const shown = 3

// some names the first of many.
func some(names []string) string {
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// WriteText writes the plan for people.
func (p *Plan) WriteText(w io.Writer) error {
	var text bytes.Buffer
	sentence := func(indent, format string, args ...any) {
		wrap.Text(&text, indent, sanitize.Line(fmt.Sprintf(format, args...)))
	}
	switch {
	case p.Clean:
		sentence("", "nothing of pools is on the nodes of %s", p.Cluster)
	case p.Nodes == 1:
		sentence("", "uninstalled from %s now, 1 node would keep what pools have put there", p.Cluster)
	default:
		sentence("", "uninstalled from %s now, %d nodes would keep what pools have put there", p.Cluster, p.Nodes)
	}
	for _, pool := range p.Pools {
		state := ""
		if !pool.Exists {
			state = ", which is gone"
		} else if pool.Paused {
			state = ", which is paused"
		}
		fmt.Fprintln(&text)
		sentence("", "pool %s%s, on %d: %s", pool.Name, state, len(pool.Nodes), some(pool.Nodes))
		for _, of := range []struct {
			field string
			keys  []string
		}{{"labels", pool.Labels}, {"annotations", pool.Annotations}, {"taints", pool.Taints}, {"not restored", pool.TakenOver}, {"adopted", pool.Adopted}} {
			if len(of.keys) > 0 {
				sentence("  ", "%s: %s", of.field, strings.Join(of.keys, ", "))
			}
		}
	}
	if len(p.Unreadable) > 0 {
		fmt.Fprintln(&text)
		sentence("", "not known, as the record cannot be read, on %d: %s", len(p.Unreadable), some(p.Unreadable))
	}
	if len(p.Steps) > 0 {
		fmt.Fprintln(&text, "\nto uninstall, in this order")
	}
	for i, step := range p.Steps {
		sentence("", "%d. %s", i+1, step.Why)
		if step.Command != "" {
			// A command is copied, so it is not broken.
			fmt.Fprintln(&text, "     "+sanitize.Line(step.Command))
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}
