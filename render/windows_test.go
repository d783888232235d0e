package render

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is wrong with windows, and what makes no sense, is reported at its line.
func TestLoadWindows(t *testing.T) {
	cases := map[string]struct {
		reason, rollout string // the rollout begins in line 6
		problems        []string
		warnings        []string
	}{
		"all said": {"nothing is wrong", `
    windows:
    - {schedule: 0 2 * * 6, timeZone: Europe/Berlin, duration: 4h}
    exclusions:
    - {start: 2026-12-18T00:00:00+01:00, end: "2027-01-05T00:00:00+01:00", reason: peak season}
    - {schedule: "@monthly", duration: 24h}
`, nil, nil},
		"impossible date": {"the server takes it, and it would stay closed", `
    windows:
    - schedule: 0 0 30 2 *
      duration: 4h
`, []string{`8: spec.rollout.windows[0].schedule: "0 0 30 2 *" is not valid: never starts: none of its months has any of its days`}, nil},
		"unknown zone": {"the same", `
    windows:
    - schedule: 0 0 1 2 *
      timeZone: Europe/Atlantis
      duration: 4h
`, []string{`9: spec.rollout.windows[0].timeZone: "Europe/Atlantis" is not valid: is not in the time zone database`}, nil},
		"no duration": {"a window has an end", `
    windows:
    - schedule: 0 0 1 2 *
`, []string{`8: spec.rollout.windows[0].duration: is missing: it says how long the window stays open`}, nil},
		"days": {"Go has no unit of that", `
    windows:
    - schedule: 0 0 1 2 *
      duration: 2d
    exclusions:
    - start: 2026-12-18
      end: tomorrow
`, []string{
			`9: spec.rollout.windows[0].duration: must be a duration, and is the text "2d"`,
			`11: spec.rollout.exclusions[0].start: must be a date and a time, and is "2026-12-18"`,
			`12: spec.rollout.exclusions[0].end: must be a date and a time, and is the text "tomorrow"`,
		}, nil},
		"backwards": {"it would never be in force", `
    exclusions:
    - start: 2026-12-18T00:00:00Z
      end: 2026-12-17T00:00:00Z
`, []string{`9: spec.rollout.exclusions[0].end: "2026-12-17T00:00:00Z" is not valid: must be after start`}, nil},
		"always open": {"a window that says nothing", `
    windows:
    - schedule: 0 2 * * *
      duration: 24h
    - schedule: 0 2 * * *
      duration: 26h
`, nil, []string{
			`8: spec.rollout.windows[0]: the window is always open: it lasts 24h0m0s, and opens again before it closes`,
			`10: spec.rollout.windows[1]: the window is always open: it lasts 26h0m0s, and opens again before it closes`,
		}},
		"always open together": {"the same", `
    windows:
    - {schedule: 0 0 * * *, duration: 12h}
    - {schedule: 0 12 * * *, duration: 12h}
`, nil, []string{`7: spec.rollout.windows: together, the windows are always open`}},
		"closed for an hour in autumn": {"clocks that go back make a day of 25 hours", `
    windows:
    - {schedule: 0 12 * * *, timeZone: Europe/Berlin, duration: 24h}
`, nil, nil},
		"never open": {"the pool would never change", `
    windows:
    - {schedule: 0 2 * * *, duration: 2h}
    exclusions:
    - {schedule: 0 1 * * *, duration: 4h}
`, nil, []string{`9: spec.rollout.exclusions: leave nothing of the windows: nothing may ever change`}},
		"excluded for a century": {"the clock of whoever reads it is not asked", `
    windows:
    - {schedule: 0 2 * * *, duration: 2h}
    exclusions:
    - {start: 2000-01-01T00:00:00Z, end: 2100-01-01T00:00:00Z}
`, nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			definitions, err := Load(tree("p.yaml", named("p", "spec:\n  rollout:"+c.rollout)))
			var problems, warnings []string
			if found, ok := errors.AsType[Problems](err); ok {
				for _, p := range found {
					problems = append(problems, fmt.Sprintf("%d: %s", p.Line, p.Message[len(`pool "p": `):]))
				}
			} else if err != nil {
				t.Fatal(err)
			}
			for _, definition := range definitions {
				for _, w := range definition.Warnings {
					warnings = append(warnings, fmt.Sprintf("%d: %s", w.Line, w.Message[len(`pool "p": `):]))
				}
			}
			if diff := cmp.Diff(c.problems, problems); diff != "" {
				t.Errorf("%s: problems (-want +got):\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.warnings, warnings); diff != "" {
				t.Errorf("%s: warnings (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
