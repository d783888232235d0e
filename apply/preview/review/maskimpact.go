package review

import (
	"regexp"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/apply/preview/redact"
)

// impact returns the impact with secrets masked in its taints and labels. Those
// that are too short to be searched for are found by the key before them. The
// given impact is not changed.
func (m *masker) impact(given *impact.Impact) *impact.Impact {
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
func (m *masker) taint(text string) string {
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

var (
	// keyed matches a taint or a label in a reason.
	keyed = regexp.MustCompile(`([^\s=,]+)=([^\s=,]*[^\s=,:])`)
	// setOtherwise matches a label in a reason that another pool sets to another value.
	setOtherwise = regexp.MustCompile(`([^\s=,]+)((?:=[^\s,]*)?, which \S+ sets to ")((?:[^"\\]|\\.)*)"`)
)

// reason masks the values of taints and labels in a sentence of package impact,
// such as "does not tolerate token=abc:NoSchedule".
func (m *masker) reason(text string) string {
	text = setOtherwise.ReplaceAllStringFunc(text, func(found string) string {
		part := setOtherwise.FindStringSubmatch(found)
		return part[1] + part[2] + m.hide(part[1], part[3], nil, masked) + `"`
	})
	return keyed.ReplaceAllStringFunc(text, func(found string) string { return m.taint(found) })
}
