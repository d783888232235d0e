package examples

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/apply/metrics"
	"github.com/nodepools/nodepools/testdata/prometheus"
)

// Metrics of the libraries that the dashboard shows.
var ofLibraries = []string{
	"controller_runtime_reconcile_errors_total", "workqueue_depth", "process_cpu_seconds_total", "process_resident_memory_bytes",
}

var (
	selected = regexp.MustCompile(`([a-z_]+)\{([^}]*)\}`)
	ranged   = regexp.MustCompile(`\[([^\]]*)\]`)
)

// The dashboard keeps to what the linter of Grafana for dashboards demands: whoever imports
// it chooses the data source and the job, and each panel says what it shows, in which unit.
func TestDashboard(t *testing.T) {
	d, err := prometheus.ReadDashboard(filepath.Join("monitoring", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var variables []string
	for _, variable := range d.Templating.List {
		variables = append(variables, variable.Name)
	}
	if !slices.Equal(variables, []string{"datasource", "job", "pool", "source"}) || d.Templating.List[0].Type != "datasource" {
		t.Errorf("the variables are %v", variables)
	}
	known := slices.Clone(ofLibraries)
	for _, definition := range metrics.Definitions() {
		known = append(known, definition.Name, definition.Name+"_bucket")
	}
	ids, titles, shown := map[int]bool{}, map[string]bool{}, 0
	for _, panel := range d.Panels {
		if ids[panel.ID] || titles[panel.Title] || panel.Title == "" {
			t.Errorf("panel %d %q: its number or its title is not its own", panel.ID, panel.Title)
		}
		ids[panel.ID], titles[panel.Title] = true, true
		if panel.GridPos.X+panel.GridPos.W > 24 || panel.GridPos.H == 0 {
			t.Errorf("%s does not fit: %+v", panel.Title, panel.GridPos)
		}
		if panel.Type == "row" {
			continue
		}
		shown++
		if panel.Description == "" || panel.FieldConfig.Defaults.Unit == "" || panel.Datasource.UID != "${datasource}" || len(panel.Targets) == 0 {
			t.Errorf("%s has no description, unit, chosen data source or target", panel.Title)
		}
		for _, target := range panel.Targets {
			selections := selected.FindAllStringSubmatch(target.Expr, -1)
			if len(selections) == 0 || target.RefID == "" {
				t.Errorf("%s selects nothing: %s", panel.Title, target.Expr)
			}
			for _, selection := range selections {
				if !slices.Contains(known, selection[1]) || !strings.Contains(selection[2], `job=~"$job"`) {
					t.Errorf("%s selects what there is not, or of any job: %s", panel.Title, selection[0])
				}
			}
			for _, over := range ranged.FindAllStringSubmatch(target.Expr, -1) {
				if over[1] != "$__rate_interval" {
					t.Errorf("%s has a rate over %s, whatever the interval of scrapes", panel.Title, over[1])
				}
			}
		}
	}
	if shown < 20 {
		t.Errorf("%d panels were found: the test does not find what there is", shown)
	}
	if overlap := overlapping(d.Panels); overlap != "" {
		t.Error(overlap)
	}
}

// overlapping names two panels of which one covers the other.
func overlapping(panels []prometheus.Panel) string {
	for i, a := range panels {
		for _, b := range panels[i+1:] {
			if a.GridPos.X < b.GridPos.X+b.GridPos.W && b.GridPos.X < a.GridPos.X+a.GridPos.W &&
				a.GridPos.Y < b.GridPos.Y+b.GridPos.H && b.GridPos.Y < a.GridPos.Y+a.GridPos.H {
				return a.Title + " and " + b.Title + " overlap"
			}
		}
	}
	return ""
}
