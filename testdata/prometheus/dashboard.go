// Package prometheus reads dashboards for tests of monitoring. Start with [ReadDashboard].
package prometheus

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Dashboard is what a dashboard of Grafana has that is looked at.
type Dashboard struct {
	Panels     []Panel `json:"panels"`
	Templating struct {
		List []struct {
			Name  string `json:"name"`
			Type  string `json:"type"`
			Query any    `json:"query"`
		} `json:"list"`
	} `json:"templating"`
}

// Panel is one of its panels. A row of them has no target.
type Panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	GridPos     struct {
		H, W, X, Y int
	} `json:"gridPos"`
	Datasource  struct{ UID string } `json:"datasource"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []struct {
		Expr  string `json:"expr"`
		RefID string `json:"refId"`
	} `json:"targets"`
}

// ReadDashboard reads the file of a dashboard.
func ReadDashboard(file string) (*Dashboard, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d := &Dashboard{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return d, nil
}

// everything are the variables of a dashboard that shows all, over half a minute.
var everything = strings.NewReplacer("$__rate_interval", "30s", "$job", ".*", "$pool", ".*", "$source", ".*")

// Expressions returns what its panels show, by the title of the panel, with all
// variables filled in.
func (d *Dashboard) Expressions() map[string][]string {
	all := map[string][]string{}
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			all[panel.Title] = append(all[panel.Title], everything.Replace(target.Expr))
		}
	}
	return all
}
