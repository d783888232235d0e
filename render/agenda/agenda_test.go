package agenda

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// The state of each source is said in words, and no line of the table is wider than a
// terminal.
func TestWriteText(t *testing.T) {
	at := time.Date(2026, time.December, 24, 11, 0, 0, 0, time.UTC)
	nightly := v1.Window{Schedule: "0 2 * * *", TimeZone: "America/Argentina/ComodRivadavia", Duration: metav1.Duration{Duration: time.Hour}}
	peak := v1.Exclusion{Start: &metav1.Time{Time: at.Add(-time.Hour)}, End: &metav1.Time{Time: at.Add(time.Hour)}, Reason: "peak\x1b[1m season"}
	cases := map[string]struct {
		reason string
		spec   v1.NodePoolSourceSpec
		want   string
		rows   int
	}{
		"free":     {"nothing is said", v1.NodePoolSourceSpec{}, "may apply a revision at any time", 0},
		"closed":   {"it is day", v1.NodePoolSourceSpec{Windows: []v1.Window{nightly}}, "closed at 2026-12-24T11:00:00Z; in America/Argentina/ComodRivadavia:", 3},
		"open":     {"nothing is in force", v1.NodePoolSourceSpec{Exclusions: []v1.Exclusion{{Start: peak.End, End: &metav1.Time{Time: at.Add(2 * time.Hour)}}}}, "open at 2026-12-24T11:00:00Z; in UTC:", 2},
		"excluded": {"a reason is the text of somebody else", v1.NodePoolSourceSpec{Exclusions: []v1.Exclusion{peak}}, "closed at 2026-12-24T11:00:00Z: excluded, peak", 1},
		"never": {"the zone is not known", v1.NodePoolSourceSpec{Windows: []v1.Window{{Schedule: "@daily", TimeZone: "Europe/Atlantis", Duration: nightly.Duration}}},
			"closed, and no opening was found\n  windows[0]: timeZone \"Europe/Atlantis\" is not in the time zone database; it stays closed", 0},
		"always": {"a window that says nothing is warned of", v1.NodePoolSourceSpec{Windows: []v1.Window{{Schedule: "@daily", Duration: metav1.Duration{Duration: 24 * time.Hour}}}},
			"open at 2026-12-24T11:00:00Z; in UTC:\n  spec.windows[0]: is always open", 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			source := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: c.spec}
			var text strings.Builder
			if err := Of([]Subject{OfSource(source, "s.yaml")}, at, 3, time.UTC).WriteText(&text); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(text.String(), "NodePoolSource "+name+" (s.yaml)\n  "+c.want) || strings.Contains(text.String(), "\x1b") {
				t.Errorf("%s: want %q in\n%s", c.reason, c.want, text.String())
			}
			rows := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")[2:]
			for _, row := range rows {
				if len(row) > 80 && c.rows > 0 {
					t.Errorf("a row has %d columns: %s", len(row), row)
				}
			}
			if c.rows > 0 && len(rows) != c.rows+1 {
				t.Errorf("%d rows, want %d and the heading:\n%s", len(rows), c.rows, text.String())
			}
		})
	}
}

// A pool without windows, and one whose rollout is paused, are told apart.
func TestPools(t *testing.T) {
	nightly := []v1.Window{{Schedule: "0 2 * * *", Duration: metav1.Duration{Duration: time.Hour}}}
	for want, rollout := range map[string]*v1.Rollout{
		"nodes may follow at any time":  {MinReady: &metav1.Duration{Duration: time.Minute}},
		"paused: no node follows":       {Paused: true, Windows: nightly},
		"closed at 2026-12-24T11:00:00": {Windows: nightly},
	} {
		pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1.NodePoolSpec{Rollout: rollout}}
		var text strings.Builder
		list := Of([]Subject{OfPool(pool, "p.yaml")}, time.Date(2026, time.December, 24, 11, 0, 0, 0, time.UTC), 1, time.UTC)
		if err := list.WriteText(&text); err != nil || !strings.Contains(text.String(), want) {
			t.Errorf("want %q (%v) in\n%s", want, err, text.String())
		}
		if list.Entries[0].Open == (rollout.Paused || rollout.Windows != nil) {
			t.Errorf("%s: it is open: %t", want, list.Entries[0].Open)
		}
	}
}
