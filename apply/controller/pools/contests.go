package pools

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// contestsStatus puts the contests of nodes together by key: a program that fights
// over one key does so on many nodes. It is nil where there are none.
func contestsStatus(byNode map[string][]plan.Contest) *v1.Contests {
	if len(byNode) == 0 {
		return nil
	}
	type fieldKey struct {
		field plan.Field
		key   string
	}
	keys := map[fieldKey]*v1.ContestedKey{}
	for _, node := range slices.Sorted(maps.Keys(byNode)) {
		for _, contest := range byNode[node] {
			id := fieldKey{contest.Field, contest.Key}
			if keys[id] == nil {
				keys[id] = &v1.ContestedKey{Field: string(contest.Field), Key: contest.Key}
			}
			keys[id].Nodes++
			keys[id].Repairs = max(keys[id].Repairs, int32(contest.Repairs))
			if len(keys[id].NodeNames) < maxNamed {
				keys[id].NodeNames = append(keys[id].NodeNames, node)
			}
			for _, manager := range contest.Managers {
				if len(keys[id].Managers) < maxNamed && !slices.Contains(keys[id].Managers, manager) {
					keys[id].Managers = append(keys[id].Managers, manager)
				}
			}
		}
	}
	sorted := slices.SortedFunc(maps.Values(keys), func(a, b *v1.ContestedKey) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Key, b.Key))
	})
	status := &v1.Contests{Nodes: int32(len(byNode)), Keys: int32(len(sorted))}
	for _, key := range sorted[:min(len(sorted), maxNamed)] {
		slices.Sort(key.Managers)
		status.First = append(status.First, *key)
	}
	return status
}

// contestsIn names the first contested keys of a pool and counts the others.
func contestsIn(pool string, contests *v1.Contests) listing {
	named, more := plan.ContestsOf([]*v1.NodePool{{
		ObjectMeta: metav1.ObjectMeta{Name: pool}, Status: v1.NodePoolStatus{Contests: contests},
	}})
	described := make([]string, 0, len(named))
	for _, contest := range named {
		described = append(described, contest.String())
	}
	return listing{described, more}
}
