package render

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// windowWarnings warns of windows that are valid and make no sense.
func (d *document) windowWarnings(pool *v1.NodePool) []Warning {
	rollout := pool.Spec.Rollout
	if rollout == nil {
		return nil
	}
	var warnings []Warning
	for _, err := range v1.WarnCalendar(rollout.Windows, rollout.Exclusions, field.NewPath("spec", "rollout")) {
		at, path, _ := blame(d.root, err)
		found := d.position(at)
		warnings = append(warnings, Warning{
			Kind: WindowsWarning, File: found.file, Line: found.line, Column: found.column, Pool: printable(pool.Name, maxValue),
			Message: printable("pool "+quoted(pool.Name)+": "+path+": "+err.Detail, maxText),
		})
	}
	return warnings
}
