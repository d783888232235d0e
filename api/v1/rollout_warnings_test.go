package v1

import (
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

// What is valid in a rollout, and cannot be what somebody wants, is warned of where it stands;
// nothing else is.
func TestWarnRollout(t *testing.T) {
	const canary, zone = "{name: canary, nodes: 1}", "{name: zone, selector: {matchLabels: {zone: a}}}"
	for what, test := range map[string]struct {
		rollout string
		want    []string // field and detail
	}{
		"nothing":             {"waves: [" + canary + ", " + zone + "]", nil},
		"a wave after all":    {"waves: [{name: all, nodes: 100%}, " + zone + "]", []string{"spec.rollout.waves[1]: has no nodes: wave all before it takes them all"}},
		"all of the rest":     {"waves: [" + zone + ", {name: all, nodes: 100%}]", nil},
		"the same selector":   {"waves: [" + zone + ", {name: again, selector: {matchLabels: {zone: a}}}]", []string{"spec.rollout.waves[1]: has no nodes: wave zone before it takes them all"}},
		"a part of it":        {"waves: [" + zone + ", {name: rack, selector: {matchLabels: {zone: a, rack: b}}, nodes: 2}]", []string{"spec.rollout.waves[1]: has no nodes: wave zone before it takes them all"}},
		"more than it":        {"waves: [{name: rack, selector: {matchLabels: {zone: a, rack: b}}}, " + zone + "]", nil},
		"another value":       {"waves: [" + zone + ", {name: other, selector: {matchLabels: {zone: b}}}]", nil},
		"what a wave left":    {"waves: [{name: some, selector: {matchLabels: {zone: a}}, nodes: 10%}, " + zone + "]", nil},
		"a wave named rest":   {"waves: [{name: rest, nodes: 1}]", []string{"spec.rollout.waves[0].name: rest is the name of the nodes in no wave"}},
		"a soak of a night":   {"waves: [{name: canary, nodes: 1, soak: 4h}], windows: [{schedule: 0 2 * * *, timeZone: UTC, duration: 4h}]", nil},
		"a soak of a day":     {"waves: [{name: canary, nodes: 1, soak: 24h}], windows: [{schedule: 0 2 * * *, timeZone: UTC, duration: 4h}, {schedule: 0 2 * * 6, timeZone: UTC, duration: 6h}]", []string{"spec.rollout.waves[0].soak: 24h0m0s is longer than the longest window, 6h0m0s"}},
		"windows that touch":  {"waves: [{name: canary, nodes: 1, soak: 7h}], windows: [{schedule: 0 2 * * *, timeZone: UTC, duration: 4h}, {schedule: 0 6 * * *, timeZone: UTC, duration: 4h}]", nil},
		"no windows":          {"waves: [{name: canary, nodes: 1, soak: 24h}]", nil},
		"a budget of nothing": {"maxUnavailable: 0%", []string{"spec.rollout.maxUnavailable: 0 lets no node follow; to stop for a time, set paused"}},
	} {
		pool := &NodePool{}
		if err := yaml.Unmarshal([]byte("{metadata: {name: p}, spec: {rollout: {"+test.rollout+"}}}"), pool); err != nil {
			t.Fatal(what, err)
		}
		if problems := ValidateNodePool(pool); len(problems) > 0 {
			t.Errorf("%s: it is not valid: %v", what, problems)
		}
		var got []string
		for _, warning := range WarnRollout(pool) {
			got = append(got, warning.Field+": "+warning.Detail)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: warnings are %q, want %q", what, got, test.want)
		}
	}
}
