package render

import v1 "github.com/nodepools/nodepools/api/v1"

// rolloutWarnings returns a warning for every window or exclusion that is valid and makes
// no sense, with its position.
func (d *document) rolloutWarnings(pool *v1.NodePool) []Warning {
	var warnings []Warning
	for _, found := range v1.WarnRollout(pool) {
		at := d.position(locate(d.root, found.Field))
		warnings = append(warnings, Warning{
			File: at.file, Line: at.line, Column: at.column, Pool: printable(pool.Name, maxValue),
			Message: printable("pool "+quoted(pool.Name)+": "+found.Field+": "+found.Detail, maxText),
		})
	}
	return warnings
}
