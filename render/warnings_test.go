package render

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Each warning is short, and names a section of the docs that is there.
func TestWarningsAreShortAndSayWhereToRead(t *testing.T) {
	const night = "{schedule: 0 2 * * *, timeZone: Europe/Berlin, duration: 4h}"
	pool := func(spec string) string { return named("tenant-a", "spec:\n"+spec) }
	text, err := os.ReadFile("../docs/pools.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		sections["docs/pools.md#"+strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(heading[1]), ""), " ", "-")] = true
	}
	for spec, want := range map[string]int{
		"  parent: wall\n  selector: {matchLabels: {topology.kubernetes.io/zone: eu-1a, example.com/accelerator: a100}}\n":                   2,
		"  selector: {matchLabels: {node-restriction.kubernetes.io/tenant: a}}\n  labels: {example.com/accelerator: a100}\n":                 1,
		"  nodeNames: ['tenant-a-*']\n  taints: [{key: example.com/tenant, effect: NoSchedule}]\n":                                           1,
		"  rollout: {maxFailures: 1, minReady: 5m, order: Zone, progressDeadline: 1h, nodeConditions: [{type: GPUHealthy}], paused: true}\n": 5,
		"  rollout: {maxUnavailable: 0}\n": 1,
		"  rollout: {windows: [{schedule: 0 2 * * *, timeZone: Europe/Berlin, duration: 24h}]}\n":                                             1,
		"  rollout: {windows: [{schedule: 0 2 * * *, timeZone: UTC, duration: 12h}, {schedule: 0 14 * * *, timeZone: UTC, duration: 12h}]}\n": 1,
		"  rollout: {windows: [" + night + "], exclusions: [" + night + "]}\n":                                                                1,
		"  rollout: {waves: [{name: rest, nodes: 100%}, {name: canary, nodes: 1}]}\n":                                                         2,
		"  rollout: {waves: [{name: canary, nodes: 1, soak: 24h}], windows: [" + night + "]}\n":                                               1,
	} {
		definitions, err := Load(tree("wall.yaml", named("wall", ""), "p.yaml", pool(spec)))
		if err != nil {
			t.Fatal(spec, err)
		}
		warnings := definitions[0].Warnings
		if len(warnings) != want {
			t.Errorf("%s: %d warnings, want %d: %v", spec, len(warnings), want, warnings)
		}
		for _, warning := range warnings {
			if len(warning.Message) >= 100 || len(warning.Hint()) >= 120 {
				t.Errorf("%d and %d characters: %v", len(warning.Message), len(warning.Hint()), warning)
			}
			if !sections[warning.Docs] {
				t.Errorf("there is no section %s: %v", warning.Docs, warning)
			}
		}
	}
}
