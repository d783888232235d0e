package review

import (
	"slices"
	"strings"

	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/apply/preview/redact"
)

// impact returns the impact with secrets masked in its taints and labels. The
// given impact is not changed.
func (m masker) impact(given *impact.Impact) *impact.Impact {
	if given == nil {
		return nil
	}
	hidden := *given
	hidden.Evictions = slices.Clone(given.Evictions)
	for i := range hidden.Evictions {
		taints := slices.Clone(hidden.Evictions[i].Taints)
		for j := range taints {
			taints[j] = m.taint(taints[j])
		}
		hidden.Evictions[i].Taints = taints
	}
	hidden.Unschedulable = slices.Clone(given.Unschedulable)
	for i := range hidden.Unschedulable {
		hidden.Unschedulable[i].Reason = m.reason(hidden.Unschedulable[i].Reason)
	}
	hidden.Overlaps = slices.Clone(given.Overlaps)
	for i := range hidden.Overlaps {
		hidden.Overlaps[i].Reason = m.reason(hidden.Overlaps[i].Reason)
	}
	return &hidden
}

// taint masks the value in key=value:Effect.
func (m masker) taint(text string) string {
	key, rest, found := strings.Cut(text, "=")
	if !found {
		return text
	}
	value, effect := rest, ""
	if at := strings.LastIndex(rest, ":"); at >= 0 {
		value, effect = rest[:at], rest[at:]
	}
	return redact.Text(key) + "=" + m.hide(key, value, nil, masked) + effect
}

// reason masks values by their keys, and then all else in the sentence.
func (m masker) reason(given impact.Reason) impact.Reason {
	return impact.Words(redact.Text(given.Masked(m.value).String()))
}

// value masks the value of a label or a taint in a reason.
func (m masker) value(key, value string) string { return m.hide(key, value, nil, masked) }
