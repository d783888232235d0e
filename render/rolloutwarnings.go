package render

import (
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// rolloutSections are the sections of docs/pools.md about fields of spec.rollout.
var rolloutSections = map[string]string{
	"windows": "windows", "exclusions": "windows", "waves": "waves", "nodeConditions": "conditions-of-nodes",
	"maxUnavailable": "budgets", "minReady": "budgets", "order": "budgets", "maxFailures": "failures", "progressDeadline": "failures",
}

// rolloutWarnings returns a warning for every field of the rollout that is valid and makes
// no sense, with its position.
func (d *document) rolloutWarnings(pool *v1.NodePool) []Warning {
	var warnings []Warning
	for _, found := range v1.WarnRollout(pool) {
		short := strings.TrimPrefix(found.Field, "spec.")
		name := strings.TrimPrefix(short, "rollout.")
		if end := strings.IndexAny(name, ".["); end >= 0 {
			name = name[:end]
		}
		warnings = append(warnings, d.warning(pool, found.Field, short+": "+found.Detail, rolloutSections[name], ""))
	}
	return warnings
}
