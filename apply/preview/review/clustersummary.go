package review

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Columns are the headings of the table of clusters, after that of their names.
var Columns = []string{"Pools", "Nodes", "Evictions", "Budgets", "Conflicts", "Problems"}

// NotKnown is the cell of a count that is not known.
const NotKnown = "?"

// Cells returns the row of the cluster in the table: pools and nodes that change, pods
// that are evicted, PodDisruptionBudgets that are exceeded, conflicts and problems. It is
// empty where the cluster could not be compared.
func (c Cluster) Cells() []string {
	if c.Review == nil {
		return nil
	}
	counts := c.Review.Summary.Counts
	cell := func(count string, n int) string {
		if c.Review.missing(count) != "" {
			return NotKnown
		}
		return strconv.Itoa(n)
	}
	return []string{
		strconv.Itoa(counts.PoolsCreated + counts.PoolsChanged + counts.PoolsDeleted),
		cell("nodesChanged", counts.NodesChanged), cell("evictions", counts.Evictions), cell("budgetsExceeded", counts.BudgetsExceeded),
		cell("conflicts", counts.Conflicts), strconv.Itoa(counts.Problems),
	}
}

// sortWorstFirst sorts clusters by severity, and those of equal severity by name.
func sortWorstFirst(clusters []Cluster) {
	slices.SortFunc(clusters, func(a, b Cluster) int {
		return cmp.Or(slices.Compare(b.severity(), a.severity()), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Inventory, b.Inventory))
	})
}

// severity returns numbers of which the first that differs decides; greater is worse.
func (c Cluster) severity() []int {
	if c.Review == nil {
		return []int{1}
	}
	n := c.Review.Summary.Counts
	unknown := 0
	if c.Review.Impact == nil && !c.Review.Empty() {
		unknown = 1
	}
	return []int{
		0, n.Evictions, n.BudgetsExceeded, n.BudgetsBlocking, n.NoFeasibleNode, n.RuntimeClassesInUse, n.DaemonPodsRemoved, n.PodsStranded, n.Unschedulable, unknown,
		n.NewProblems + n.NewConflicts, n.PoolsHeldBack + n.ReleasesHeldBack, n.PoolsDeleted, n.NodesChanged, n.PoolsCreated + n.PoolsChanged,
		n.RuntimeClassesCreated + n.RuntimeClassesChanged + n.RuntimeClassesReplaced + n.RuntimeClassesDeleted,
	}
}

// summarizeClusters adds up what the clusters have.
func summarizeClusters(clusters []Cluster) Summary {
	var s Summary
	var failed, changed, noPods int
	for _, cluster := range clusters {
		switch {
		case cluster.Review == nil:
			failed++
			continue
		case !cluster.Review.Empty():
			changed++
		}
		if cluster.Review.Impact == nil {
			noPods++
		}
		s.Counts = s.Counts.plus(cluster.Review.Summary.Counts)
	}
	parts := []string{}
	add := func(n int, verb string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, verb))
		}
	}
	add(failed, "not compared")
	add(changed, "changed")
	add(len(clusters)-failed-changed, "without a difference")
	s.Changes = Count(len(clusters), "cluster") + ": " + strings.Join(parts, ", ")
	s.Impact = s.Counts.worstOfClusters(noPods)
	return s
}

// ofOne are the counts that are those of the rollout, or of the wave, that has the most.
var ofOne = []string{"waves", "evictionsPerWave"}

// plus returns the sums of both; of what is counted of one rollout, the greater.
func (c Counts) plus(other Counts) Counts {
	sum, more := reflect.ValueOf(&c).Elem(), reflect.ValueOf(other)
	for i := range sum.NumField() {
		if slices.Contains(ofOne, sum.Type().Field(i).Tag.Get("json")) {
			sum.Field(i).SetInt(max(sum.Field(i).Int(), more.Field(i).Int()))
			continue
		}
		sum.Field(i).SetInt(sum.Field(i).Int() + more.Field(i).Int())
	}
	return c
}

// worstOfClusters returns what is harmful in all clusters together, the worst first.
func (c Counts) worstOfClusters(noPods int) string {
	var parts []string
	for _, count := range c.Say() {
		if count.Harm || count.Name == "podsDrained" {
			parts = append(parts, count.String())
		}
	}
	for _, count := range []struct {
		n          int
		noun, verb string
	}{{c.NewProblems, "problem", "that the change brings"}, {c.NewConflicts, "conflict", "that the change brings"}, {c.RolloutsHalted, "rollout", "halted"}} {
		if count.n > 0 {
			parts = append(parts, Count(count.n, count.noun)+" "+count.verb)
		}
	}
	if noPods > 0 {
		parts = append(parts, "pods of "+Count(noPods, "cluster")+" are not known")
	}
	return strings.Join(parts, "; ")
}
