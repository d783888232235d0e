package plan

import (
	"cmp"
	"maps"
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// After returns the pools as they stand after the changes, sorted by name.
func (p *PoolsPlan) After(live []*v1.NodePool) []*v1.NodePool {
	byName := make(map[string]*v1.NodePool, len(live))
	for _, pool := range live {
		byName[pool.Name] = pool
	}
	for _, change := range p.Changes {
		if after := change.After(); after != nil {
			byName[change.Name] = after
		} else {
			delete(byName, change.Name)
		}
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b *v1.NodePool) int { return cmp.Compare(a.Name, b.Name) })
}

// After returns the pool as it stands after the change; nil when it is gone. Its
// spec is the wanted one. Of its labels and annotations those stay that others
// have put there, a pause for one.
func (c PoolChange) After() *v1.NodePool {
	switch {
	case c.Want == nil:
		return nil
	case c.Live == nil:
		return c.Want.DeepCopy()
	}
	after, want := c.Live.DeepCopy(), c.Want.DeepCopy()
	after.Spec = want.Spec
	others := &owners{object: c.Live}
	after.Labels = overlay(after.Labels, want.Labels, dropped(c.Live, "labels", want.Labels), others.label)
	after.Annotations = overlay(after.Annotations, want.Annotations, dropped(c.Live, "annotations", want.Annotations), others.annotation)
	return after
}

// overlay is what an apply makes of a map: what it wants goes over what stands
// there, and what it drops goes, unless somebody else applies it too.
func overlay(live, want map[string]string, dropped []string, coOwned func(string) bool) map[string]string {
	after := make(map[string]string, len(live)+len(want))
	maps.Copy(after, live)
	for _, key := range dropped {
		if !coOwned(key) {
			delete(after, key)
		}
	}
	maps.Copy(after, want)
	return after
}
