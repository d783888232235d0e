package controller

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// happening is that the changes of pools came to a node which may end pods there, or keep
// them off.
type happening struct {
	at    time.Time
	node  string
	pools []string
	// concerned are the pools that the node was in then, or carried keys of.
	concerned []string
}

// disrupted are the pools of whose keys some have changed that may end pods or keep them
// off: each pool has keys of its own.
func (s *scenario) disrupted(before, after *corev1.Node) (changed []string) {
	for name := range s.names() {
		if slices.ContainsFunc(s.keys(name), func(key string) bool {
			was, had := before.Labels[key]
			is, has := after.Labels[key]
			return had && (!has || was != is) || !slices.Equal(disruptiveTaints(before, key), disruptiveTaints(after, key))
		}) {
			changed = append(changed, s.full(name))
		}
	}
	slices.Sort(changed)
	return changed
}

// concerned are the pools that a node is in, or carries keys of.
func (s *scenario) concerned(node *corev1.Node) (pools []string) {
	for name := range s.names() {
		key := s.key(name)
		_, labelled := node.Labels[key]
		tainted := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == key })
		if labelled || tainted || s.isMember(name, node.Name) {
			pools = append(pools, s.full(name))
		}
	}
	return pools
}

// isMember reports whether a node is in a pool after the revision.
func (s *scenario) isMember(pool, node string) bool {
	spec := s.after[pool]
	if spec == nil || spec.Parent != "" && !s.isMember(strings.TrimPrefix(spec.Parent, s.prefix+"-"), node) {
		return false
	}
	return slices.ContainsFunc(spec.NodeNames, func(pattern string) bool {
		matches, err := path.Match(pattern, node)
		return err == nil && matches
	})
}

func disruptiveTaints(node *corev1.Node, key string) (taints []string) {
	for _, taint := range node.Spec.Taints {
		if taint.Key == key && taint.Effect != corev1.TaintEffectPreferNoSchedule {
			taints = append(taints, taint.Value+":"+string(taint.Effect))
		}
	}
	slices.Sort(taints)
	return taints
}

// boundaries are when windows of the pools of a scenario open and close within a time.
func (s *scenario) boundaries(from, to time.Time) (times []time.Time) {
	for name := range s.names() {
		spec, _ := s.spec(s.full(name))
		pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: *spec}
		if spec.Rollout == nil || pool.Calendar().Unrestricted() {
			continue
		}
		calendar := pool.Calendar()
		for at := from; at.Before(to); {
			next := calendar.Until(at)
			if !calendar.Open(at) {
				next, _ = calendar.Next(at)
			}
			if !next.After(at) {
				break
			}
			times = append(times, next)
			at = next
		}
	}
	return times
}

// describe is what has happened in a scenario: "Sat 12:10 n1 n2; Sat 12:20 n3".
func (s *scenario) describe(happened []happening) string {
	if len(happened) == 0 {
		return nothing
	}
	happened = slices.SortedFunc(slices.Values(happened), func(a, b happening) int { return cmp.Or(a.at.Compare(b.at), strings.Compare(a.node, b.node)) })
	var parts []string
	at := ""
	for _, h := range happened {
		if stamp := stampOf(h.at); stamp != at {
			at = stamp
			parts = append(parts, stamp)
		}
		text := strings.TrimPrefix(h.node, s.prefix+"-")
		if len(s.names()) > 1 {
			var of []string
			for _, pool := range h.pools {
				of = append(of, strings.TrimPrefix(pool, s.prefix+"-"))
			}
			text += "(" + strings.Join(of, ",") + ")"
		}
		parts[len(parts)-1] += " " + text
	}
	return strings.Join(parts, "; ")
}

func stampOf(t time.Time) string {
	if t.Second() != 0 {
		return t.UTC().Format("Mon 15:04:05")
	}
	return t.UTC().Format("Mon 15:04")
}
