package plan

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Conditions are those of a node, by type and status, without Ready, which is kept apart: as
// [Conditions.String] writes them, after a comma. The empty value is that they are not known.
// They are one text, which thousands of nodes can share.
type Conditions string

// noConditions are those of a node that has none.
const noConditions = Conditions(",")

// maxConditions bounds how many conditions of a node are kept, those that are first by type;
// maxConditionType is how long a type may be that a pool can name.
const (
	maxConditions    = 64
	maxConditionType = 317
)

// ConditionsOf returns the conditions of a node. Those are left out that no pool can name. Of
// several of a type the first counts. Of a node without any, Ready included, nothing is known:
// no kubelet has reported on it yet.
func ConditionsOf(conditions []corev1.NodeCondition) Conditions {
	if len(conditions) == 0 {
		return ""
	}
	texts := make([]string, 0, len(conditions))
	for _, condition := range conditions {
		kind := string(condition.Type)
		if condition.Type == corev1.NodeReady || len(kind) > maxConditionType {
			continue
		}
		status := condition.Status
		if status != corev1.ConditionTrue && status != corev1.ConditionFalse {
			status = corev1.ConditionUnknown // as Kubernetes takes what it does not know
		}
		texts = append(texts, kind+"="+string(status))
	}
	return conditionsOf(texts)
}

// ParseConditions returns the conditions of a text as [Conditions.String] makes it. What it
// has besides is left out.
func ParseConditions(text string) Conditions {
	if text == "" {
		return noConditions
	}
	return conditionsOf(strings.Split(text, ","))
}

func conditionsOf(texts []string) Conditions {
	kindOf := func(text string) string { kind, _, _ := strings.Cut(text, "="); return kind }
	texts = slices.DeleteFunc(texts, func(text string) bool {
		kind, status, _ := strings.Cut(text, "=")
		known := status == string(corev1.ConditionTrue) || status == string(corev1.ConditionFalse) || status == string(corev1.ConditionUnknown)
		return !known || kind == string(corev1.NodeReady) || len(kind) > maxConditionType || !canBeNamed(kind)
	})
	slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(kindOf(a), kindOf(b)) })
	texts = slices.CompactFunc(texts, func(a, b string) bool { return kindOf(a) == kindOf(b) })
	return noConditions + Conditions(strings.Join(texts[:min(len(texts), maxConditions)], ","))
}

// canBeNamed reports whether a type is made of the characters of a qualified name: then a
// text of types and statuses can be taken apart again. The rest of the rule is left to who
// names it.
func canBeNamed(kind string) bool {
	return kind != "" && strings.IndexFunc(kind, func(char rune) bool {
		letter := char >= 'a' && char <= 'z' || char >= 'A' && char <= 'Z' || char >= '0' && char <= '9'
		return !letter && !strings.ContainsRune("-_./", char)
	}) < 0
}

// Known reports whether it is known which conditions the node has.
func (c Conditions) Known() bool { return c != "" }

// String has types and statuses, sorted, such as "DiskPressure=False,GPUHealthy=True"; it is
// empty where there are none, or where they are not known.
func (c Conditions) String() string {
	return strings.TrimPrefix(string(c), string(noConditions))
}

// Objects returns them as the API has them.
func (c Conditions) Objects() []corev1.NodeCondition {
	var all []corev1.NodeCondition
	for each := range strings.SplitSeq(c.String(), ",") {
		if kind, status, is := strings.Cut(each, "="); is {
			all = append(all, corev1.NodeCondition{Type: corev1.NodeConditionType(kind), Status: corev1.ConditionStatus(status)})
		}
	}
	return all
}

// status is the status of a condition; empty where there is none of this type.
func (c Conditions) status(kind string) corev1.ConditionStatus {
	for each := range strings.SplitSeq(c.String(), ",") {
		if has, status, _ := strings.Cut(each, "="); has == kind {
			return corev1.ConditionStatus(status)
		}
	}
	return ""
}

// unmet says of the first condition that a pool names, and the node does not have with that
// status, what the node has instead: "has condition GPUHealthy=False". It is empty where it
// has all, and where it is not known.
func (r *rollout) unmet(of Conditions) string {
	if !of.Known() {
		return ""
	}
	for _, named := range r.conditions {
		switch status := of.status(named.Type); status {
		case named.Want():
		case "":
			return "has no condition " + named.Type
		default:
			return "has condition " + named.Type + "=" + string(status)
		}
	}
	return ""
}

// unmet returns, by pool, what a node with these conditions lacks of those that the pool
// names; pools of which it lacks nothing are left out.
func (r *Rollouts) unmet(pools []string, of Conditions) map[string]string {
	if r == nil {
		return nil
	}
	var unmet map[string]string
	for _, name := range pools {
		one := r.pools[name]
		if one == nil || len(one.conditions) == 0 {
			continue
		}
		if lacks := one.unmet(of); lacks != "" {
			if unmet == nil {
				unmet = map[string]string{}
			}
			unmet[name] = lacks
		}
	}
	return unmet
}

// namedConditions are the conditions that a pool names, sorted by type.
func namedConditions(rollout *v1.Rollout) []v1.NodeCondition {
	return slices.SortedFunc(slices.Values(rollout.NodeConditions), func(a, b v1.NodeCondition) int { return cmp.Compare(a.Type, b.Type) })
}

// unready reports whether a node that begins to follow a pool is not ready, or does not meet
// a condition of one whose rollout the pool waits for: that it does not later, the change has
// not caused.
func (f NodeFacts) unready(pool string, unmet map[string]string) bool {
	if f.Unready {
		return true
	}
	for name := range unmet {
		if one := f.Rollouts.of(name); one.governs(f.Rollouts.of(pool)) {
			return true
		}
	}
	return false
}
