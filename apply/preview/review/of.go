package review

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/render"
)

// Input is what a review is made of.
type Input struct {
	Compared Compared
	// Files are what the head defines; a pool that changes is shown with its file
	// and line.
	Files []render.Definition
	// Before is the cluster that the difference is to.
	Before     plan.Cluster
	Difference *plan.Difference
	// Impact is nil where pods are not known.
	Impact *impact.Impact
	Notes  []string
	// Schedules foretell the rollouts, Weakenings are the pools whose rollouts are weakened,
	// Bypasses those that ask no rollout, and EmptyWaves the waves of changed ones that no node is in.
	Schedules  []plan.PoolSchedule
	Weakenings []plan.Weakening
	Bypasses   []plan.Bypass
	EmptyWaves []plan.EmptyWave
	// Renames are the pools that the change renames.
	Renames []plan.Rename
}

// Of makes the review. It changes nothing of what it is given.
func Of(in Input) (*Review, error) {
	r := &Review{
		APIVersion: APIVersion, Kind: Kind, Compared: in.Compared,
		Kept: listOf(in.Difference.Pools.Kept), Problems: []string{}, Notes: listOf(in.Notes), Impact: in.Impact,
		Rollouts: rolloutsOf(in.Schedules, in.Impact), WeakenedRollouts: listOf(in.Weakenings), BypassedRollouts: listOf(in.Bypasses), EmptyWaves: listOf(in.EmptyWaves), Renames: listOf(in.Renames),
	}
	if broken := in.Compared.BrokenBase; broken != nil {
		r.Compared.BrokenBase = &BrokenBase{Revision: broken.Revision, Problems: listOf(broken.Problems), MoreProblems: broken.MoreProblems}
	}
	var err error
	if r.Pools, err = pools(in); err != nil {
		return nil, err
	}
	if r.RuntimeClasses, err = runtimeClasses(in.Difference); err != nil {
		return nil, err
	}
	r.Nodes, r.Records = nodes(in.Difference), records(in.Difference, in.Before)
	r.Members = members(in.Before, in.Difference.After(in.Before), r.Nodes)
	// What is wrong already is no fault of the change.
	standing, err := plan.Diff(plan.Revision{}, in.Before)
	if err != nil {
		return nil, err
	}
	r.Conflicts = conflicts(in.Difference, standing)
	r.Contests = []Contest{}
	contests, more := plan.ContestsOf(in.Before.Pools)
	for _, contest := range contests {
		r.Contests = append(r.Contests, Contest(contest))
	}
	r.MoreContests = more
	if blocked := in.Difference.Pools.Blocked; blocked != nil {
		r.HeldBack = &HeldBack{Pools: listOf(blocked.Pools), Of: blocked.Of, Reason: blocked.Reason, Remedy: blocked.Remedy}
	}
	r.HeldReleases = heldReleases(in.Difference)
	before, fresh := plan.NewProblemSet(standing.Problems), 0
	for _, problem := range in.Difference.Problems {
		r.Problems = append(r.Problems, problem.Error())
		if !before.Has(problem) {
			fresh++
		}
	}
	mask(r)
	r.Summary = summarize(r, fresh)
	return r, nil
}

func heldReleases(d *plan.Difference) []HeldRelease {
	held := []HeldRelease{}
	if d.Pools.Held != nil {
		held = append(held, heldRelease(d.Pools.Held))
	}
	for _, block := range d.Held {
		held = append(held, heldRelease(block))
	}
	return held
}

func heldRelease(block *plan.ReleaseBlock) HeldRelease {
	return HeldRelease{Pool: block.Pool, Losses: listOf(block.Losses), Reason: block.Reason(), Remedy: block.Remedy}
}

// Empty reports whether nothing would change.
func (r *Review) Empty() bool { return len(r.Pools)+len(r.RuntimeClasses)+len(r.Nodes) == 0 }

// listOf is a list that JSON writes as one, also where it is empty.
func listOf[T any](list []T) []T { return append([]T{}, list...) }

func nodes(d *plan.Difference) []Nodes {
	groups := groupBy(d.Nodes, func(node plan.NodeDifference) (string, Nodes) {
		if node.NoOp() {
			return "", Nodes{}
		}
		return textOf(node.Changes), Nodes{Changes: listOf(node.Changes)}
	}, func(group *Nodes, name string) { group.Names = append(group.Names, name) })
	return groups
}

// records are those that change. A record that says the same may change all the
// same: one of an old version is written anew with the next write.
func records(d *plan.Difference, before plan.Cluster) []Records {
	texts := make(map[string]string, len(before.Nodes))
	for _, node := range before.Nodes {
		texts[node.Name] = node.Annotations[v1.AppliedAnnotation]
	}
	return groupBy(d.Nodes, func(node plan.NodeDifference) (string, Records) {
		record := node.Record.String()
		if node.NoOp() || record == texts[node.Name] {
			return "", Records{}
		}
		return "record " + record, Records{Value: record}
	}, func(group *Records, name string) { group.Names = append(group.Names, name) })
}

// groupBy puts the nodes of which the same is to be said together, in the order of
// the first of each. Nothing is to be said where what distinguishes them is empty.
func groupBy[G any](nodes []plan.NodeDifference, say func(plan.NodeDifference) (string, G), add func(*G, string)) []G {
	groups, at := []G{}, map[string]int{}
	for _, node := range nodes {
		same, group := say(node)
		if same == "" {
			continue
		}
		i, known := at[same]
		if !known {
			i = len(groups)
			at[same] = i
			groups = append(groups, group)
		}
		add(&groups[i], node.Name)
	}
	return groups
}

// textOf differs for things that differ in anything.
func textOf(things any) string {
	text, err := json.Marshal(things)
	if err != nil {
		return fmt.Sprintf("%#v", things) // never: they are made of texts
	}
	return string(text)
}

// maxClaims is how many pools are listed that do not get a key of a node.
const maxClaims = 3

// conflicts lists the keys that pools do not get, and puts the nodes together on
// which that is the same.
func conflicts(d, standing *plan.Difference) []Conflict {
	before := map[string]bool{}
	for _, node := range standing.Nodes {
		for _, conflict := range node.Conflicts {
			before[node.Name+" "+textOf(conflictOf(conflict))] = true
		}
	}
	found, at := []Conflict{}, map[string]int{}
	for _, node := range d.Nodes {
		for _, denied := range node.Conflicts {
			conflict := conflictOf(denied)
			text := textOf(conflict)
			conflict.Standing = before[node.Name+" "+text]
			same := fmt.Sprint(conflict.Standing, text)
			i, known := at[same]
			if !known {
				i = len(found)
				at[same] = i
				found = append(found, conflict)
			}
			found[i].Nodes = append(found[i].Nodes, node.Name)
		}
	}
	slices.SortStableFunc(found, func(a, b Conflict) int {
		return cmp.Or(slices.Compare(a.Nodes, b.Nodes), plan.CompareBools(a.Standing, b.Standing), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Key, b.Key))
	})
	return found
}

// conflictOf is a conflict of a plan without the nodes.
func conflictOf(denied plan.KeyConflict) Conflict {
	conflict := Conflict{Field: denied.Field(), Key: denied.Key()}
	conflict.Claims, conflict.MoreClaims = denied.First(maxClaims)
	return conflict
}

// members are the pools that a node enters or leaves, or on whose nodes something
// changes.
func members(before, after plan.Cluster, nodes []Nodes) []Members {
	was, is := before.Members(), after.Members()
	touched := map[string]bool{}
	for _, group := range nodes {
		for _, change := range group.Changes {
			touched[change.Pool] = true
		}
	}
	all := []Members{}
	names := maps.Clone(was)
	maps.Copy(names, is)
	for _, pool := range slices.Sorted(maps.Keys(names)) {
		change := Members{
			Pool: pool, Before: len(was[pool]), After: len(is[pool]),
			Entering: without(is[pool], was[pool]), Leaving: without(was[pool], is[pool]),
		}
		if touched[pool] || len(change.Entering)+len(change.Leaving) > 0 {
			all = append(all, change)
		}
	}
	return all
}

// without are those of a sorted list that are not in the other one.
func without(list, other []string) []string {
	rest := []string{}
	for _, name := range list {
		if _, found := slices.BinarySearch(other, name); !found {
			rest = append(rest, name)
		}
	}
	return rest
}

// place is where a pool is defined.
func place(files []render.Definition, pool string) (string, int) {
	i, found := slices.BinarySearchFunc(files, pool, func(d render.Definition, name string) int { return strings.Compare(d.Pool.Name, name) })
	if !found {
		return "", 0
	}
	return files[i].File, files[i].Line
}

func pools(in Input) ([]Object, error) {
	objects := []Object{}
	for _, change := range in.Difference.PoolChanges {
		object := Object{Name: change.Name, Action: change.Action}
		object.File, object.Line = place(in.Files, change.Name)
		var err error
		if object.Before, err = manifest(change.Live, v1.GroupVersion.String(), v1.NodePoolKind); err != nil {
			return nil, err
		}
		if change.Action != plan.Delete {
			if object.After, err = manifest(change.After(), v1.GroupVersion.String(), v1.NodePoolKind); err != nil {
				return nil, err
			}
		}
		objects = append(objects, object)
	}
	return objects, nil
}
