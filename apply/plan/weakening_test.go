package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func TestWeakened(t *testing.T) {
	limit := func(text string) *intstr.IntOrString { return ptr.To(intstr.Parse(text)) }
	minutes := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Minute} }
	unavailable := func(text string) *v1.Rollout { return &v1.Rollout{MaxUnavailable: limit(text)} }
	failures := func(text string) *v1.Rollout { return &v1.Rollout{MaxFailures: limit(text), Paused: true} }
	waves := func(waves ...v1.Wave) *v1.Rollout { return &v1.Rollout{Waves: waves} }
	canary := waveOf("canary", "1", func(w *v1.Wave) { w.Soak, w.Approval = minutes(30), v1.ApprovalRequired })
	linux := &v1.WaveSelector{MatchLabels: map[string]v1.LabelValue{"kubernetes.io/os": "linux"}}
	windows := func(windows ...v1.Window) *v1.Rollout { return &v1.Rollout{Windows: windows} }
	night := v1.Window{Schedule: "0 2 * * *", TimeZone: "Europe/Berlin", Duration: *minutes(60)}
	long, elsewhere, noon := night, night, night
	long.Duration, elsewhere.TimeZone, noon.Schedule = *minutes(61), "", "0 12 * * *"
	excludes := func(exclusions ...v1.Exclusion) *v1.Rollout { return &v1.Rollout{Exclusions: exclusions} }
	at := func(hours int) *metav1.Time {
		return ptr.To(metav1.NewTime(closedAt.Add(time.Duration(hours) * time.Hour)))
	}
	peak, freeze := v1.Exclusion{Start: at(-1), End: at(1), Reason: "peak"}, v1.Exclusion{Schedule: "@daily", Duration: minutes(60)}
	shorter, longer, over := peak, peak, peak
	shorter.Start, longer.End, over.End = at(0), at(2), at(0)
	shortFreeze := freeze
	shortFreeze.Duration = minutes(59)

	conditioned := func(conditions ...string) *v1.Rollout {
		pool := &v1.NodePool{Spec: v1.NodePoolSpec{Rollout: &v1.Rollout{Paused: true}}}
		naming(conditions...)(pool)
		return pool.Spec.Rollout
	}

	cases := map[string]struct {
		before, after *v1.Rollout
		nodes         int
		want          []string
	}{
		"none":                      {nil, nil, 3, nil},
		"comes":                     {nil, unavailable("1"), 3, nil},
		"the same":                  {unavailable("1"), unavailable("1"), 3, nil},
		"removed":                   {unavailable("1"), nil, 3, []string{"the rollout is removed"}},
		"higher":                    {unavailable("1"), unavailable("5"), 3, []string{"maxUnavailable 1 -> 5"}},
		"lower":                     {unavailable("5"), unavailable("1"), 3, nil},
		"a higher part":             {unavailable("10%"), unavailable("20%"), 3, []string{"maxUnavailable 10% -> 20%"}},
		"a part of many":            {unavailable("5"), unavailable("10%"), 100, []string{"maxUnavailable 5 -> 10%"}},
		"a part of few":             {unavailable("5"), unavailable("10%"), 40, nil},
		"a part of unknown":         {unavailable("5"), unavailable("10%"), 0, []string{"maxUnavailable 5 -> 10%"}},
		"none of unknown":           {unavailable("5%"), unavailable("0"), 0, nil},
		"no limit":                  {unavailable("0"), &v1.Rollout{MinReady: minutes(1)}, 3, []string{"maxUnavailable 0 -> any"}},
		"no drain":                  {drains("1h", ""), &v1.Rollout{Paused: true}, 3, []string{"drain removed"}},
		"a drain by force":          {drains("1h", ""), drains("1h", v1.ForceOnTimeout), 3, []string{"drain.onTimeout Hold -> Force"}},
		"less time by force":        {drains("1h", v1.ForceOnTimeout), drains("2m", v1.ForceOnTimeout), 3, []string{"drain.timeout 1h0m0s -> 2m0s"}},
		"less time, and held":       {drains("1h", ""), drains("2m", ""), 3, nil},
		"a drain, no more by force": {drains("1h", v1.ForceOnTimeout), drains("1h", v1.HoldOnTimeout), 3, nil},
		"more failures":             {failures("0"), failures("1"), 3, []string{"maxFailures 0 -> 1"}},
		"some failures":             {&v1.Rollout{Paused: true}, failures("1"), 3, []string{"maxFailures 0 -> 1"}},
		"no more failures":          {failures("1"), &v1.Rollout{Paused: true}, 3, nil},
		"longer progressDeadline":   {&v1.Rollout{ProgressDeadline: minutes(1)}, &v1.Rollout{ProgressDeadline: minutes(2)}, 3, []string{"progressDeadline 1m0s -> 2m0s"}},
		"no condition":              {conditioned("A", "B=False"), conditioned("B=False"), 3, []string{"condition A=True is removed"}},
		"another status":            {conditioned("A"), conditioned("A=False"), 3, []string{"condition A=True -> False"}},
		"the same, spelled out":     {conditioned("A"), conditioned("A=True", "B"), 3, nil},
		"no progressDeadline":       {&v1.Rollout{ProgressDeadline: minutes(1)}, &v1.Rollout{MaxUnavailable: new(intstr.FromInt32(1))}, 3, []string{"progressDeadline removed"}},
		"shorter progressDeadline":  {&v1.Rollout{ProgressDeadline: minutes(2)}, &v1.Rollout{ProgressDeadline: minutes(1)}, 3, nil},
		"shorter minReady":          {&v1.Rollout{MinReady: minutes(2)}, &v1.Rollout{MinReady: minutes(1)}, 3, []string{"minReady 2m0s -> 1m0s"}},
		"longer minReady":           {&v1.Rollout{MinReady: minutes(1)}, &v1.Rollout{MinReady: minutes(2)}, 3, nil},
		"wave goes":                 {waves(canary, waveOf("b", "2", nil)), waves(waveOf("b", "2", nil)), 9, []string{"wave canary is removed"}},
		"wave comes":                {waves(canary), waves(canary, waveOf("b", "2", nil)), 9, nil},
		"larger, with no soak":      {waves(canary), waves(waveOf("canary", "3", nil)), 9, []string{"wave canary needs no approval", "soak of wave canary 30m0s -> 0s", "nodes of wave canary 1 -> 3"}},
		"a wave between":            {waves(canary, waveOf("c", "2", nil)), waves(canary, waveOf("b", "2", nil), waveOf("c", "2", nil)), 9, []string{"wave b comes before wave c"}},
		"a wave before all":         {waves(canary), waves(waveOf("a", "99%", nil), canary), 9, []string{"wave a comes before wave canary"}},
		"another order":             {waves(canary, waveOf("b", "2", nil)), waves(waveOf("b", "2", nil), canary), 9, []string{"wave b comes before wave canary"}},
		"a wider selector":          {waves(canary), waves(waveOf("canary", "1", func(w *v1.Wave) { *w = canary; w.Selector = linux })), 9, []string{"wave canary selects other nodes"}},
		"a smaller wave":            {waves(waveOf("b", "50%", nil)), waves(waveOf("b", "1", nil)), 9, []string{"nodes of wave b 50% -> 1"}},
		"zones at once":             {&v1.Rollout{Order: v1.OrderByZone, Paused: true}, &v1.Rollout{Paused: true}, 9, []string{"order Zone removed"}},
		"zone by zone":              {&v1.Rollout{Paused: true}, &v1.Rollout{Order: v1.OrderByZone, Paused: true}, 9, nil},
		"windows go":                {windows(night), unavailable("1"), 9, []string{"windows are removed"}},
		"windows come":              {unavailable("1"), &v1.Rollout{MaxUnavailable: limit("1"), Windows: []v1.Window{night}}, 9, nil},
		"one window less":           {windows(night, noon), windows(night), 9, nil},
		"one window more":           {windows(night), windows(night, noon), 9, []string{`window "0 12 * * *" for 1h0m0s is new`}},
		"a longer window":           {windows(night), windows(long), 9, []string{`window "0 2 * * *" for 1h1m0s is new`}},
		"a shorter window":          {windows(long), windows(night), 9, nil},
		"in another zone":           {windows(night), windows(elsewhere), 9, []string{`window "0 2 * * *" for 1h0m0s is new`}},
		"exclusion goes":            {excludes(peak, freeze), excludes(freeze), 9, []string{`exclusion "peak" is removed or shorter`}},
		"exclusion comes":           {excludes(freeze), excludes(peak, freeze), 9, nil},
		"a shorter exclusion":       {excludes(peak), excludes(shorter), 9, []string{`exclusion "peak" is removed or shorter`}},
		"a longer exclusion":        {excludes(peak), excludes(longer), 9, nil},
		"exclusion is over":         {excludes(over, freeze), excludes(freeze), 9, nil},
		"a shorter one that recurs": {excludes(freeze), excludes(shortFreeze), 9, []string{`exclusion "@daily" is removed or shorter`}},
		"goes on":                   {&v1.Rollout{Paused: true, MaxUnavailable: limit("1")}, unavailable("1"), 9, []string{"paused no longer"}},
		"paused":                    {unavailable("1"), &v1.Rollout{Paused: true, MaxUnavailable: limit("1")}, 9, nil},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, Weakened(c.before, c.after, c.nodes, closedAt)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A pool that is deleted takes its rollout with it; one that is new or has none weakens
// nothing.
func TestWeakenings(t *testing.T) {
	one, five := intstr.FromInt32(1), intstr.FromInt32(5)
	strict, weak := &v1.Rollout{MaxUnavailable: &one}, &v1.Rollout{MaxUnavailable: &five}
	pool := func(name string, rollout *v1.Rollout) *v1.NodePool {
		return waitingPool(name, func(pool *v1.NodePool) { pool.Spec.Rollout = rollout })
	}
	d := &Difference{Pools: &PoolsPlan{}, PoolChanges: []PoolChange{
		{Name: "weaker", Action: Update, Live: pool("weaker", strict), Want: pool("weaker", weak)},
		{Name: "stronger", Action: Update, Live: pool("stronger", weak), Want: pool("stronger", strict)},
		{Name: "comes", Action: Create, Want: pool("comes", weak)},
		{Name: "gone", Action: Delete, Live: pool("gone", strict)},
		{Name: "plain", Action: Delete, Live: pool("plain", nil)},
	}}
	var got []string
	d.accept(Revision{}, Cluster{})
	d.accept(Revision{}, Cluster{})
	for _, w := range d.Weakenings(Cluster{}, closedAt) {
		got = append(got, w.String())
	}
	want := []string{`weakens the rollout of pool "gone": the rollout is removed`, `weakens the rollout of pool "weaker": maxUnavailable 1 -> 5`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A pool that has got another priority, or another pool around it, no longer waits for the
// rollout of one that was stronger, or around it. A pool that was not there has not waited.
func TestWeakeningsByStrength(t *testing.T) {
	one := intstr.FromInt32(1)
	define := func(name string, priority int32, parent string) *v1.NodePool {
		return waitingPool(name, func(pool *v1.NodePool) {
			pool.Spec.Priority, pool.Spec.Parent, pool.Spec.NodeNames = priority, parent, []string{"n*"}
			if name == "freeze" {
				pool.Spec.Rollout = &v1.Rollout{MaxUnavailable: &one}
			}
		})
	}
	live := []*v1.NodePool{define("a", 0, ""), define("b", 0, ""), define("freeze", 100, ""), define("inner", 200, "freeze"), define("strong", 200, "")}
	elsewhere, narrow, wide := define("b", 150, ""), define("freeze", 100, ""), define("freeze", 100, "")
	elsewhere.Spec.NodeNames, narrow.Spec.NodeNames, wide.Spec.NodeNames = []string{"m*"}, []string{"n2"}, []string{"m*", "n*"}
	for name, c := range map[string]struct {
		changes []*v1.NodePool
		nodes   []string
		want    []string
	}{
		"nothing":              {nil, []string{"n1"}, nil},
		"lower, and as strong": {[]*v1.NodePool{define("freeze", 50, "")}, []string{"n1"}, nil},
		"lower than some":      {[]*v1.NodePool{define("freeze", -1, "")}, []string{"n1"}, []string{`pools "a", "b" no longer wait for it`}},
		"another one higher":   {[]*v1.NodePool{define("a", 150, "")}, []string{"n1"}, []string{`pool "a" no longer waits for it`}},
		"no pool around it":    {[]*v1.NodePool{define("inner", 200, "")}, []string{"n1"}, []string{`pool "inner" no longer waits for it`}},
		"weaker, within":       {[]*v1.NodePool{define("strong", 200, "freeze")}, []string{"n1"}, nil},
		"a new one":            {[]*v1.NodePool{define("new", 300, "")}, []string{"n1"}, nil},
		"on other nodes":       {[]*v1.NodePool{elsewhere}, []string{"n1", "m1"}, nil},
		"gives up nodes":       {[]*v1.NodePool{narrow}, []string{"n1", "n2"}, []string{`pools "a", "b" no longer wait for it`}},
		"gives up no node":     {[]*v1.NodePool{narrow}, []string{"n2"}, nil},
		"may give up nodes":    {[]*v1.NodePool{narrow}, nil, []string{`pools "a", "b", "inner" no longer wait for it`}},
		"has more nodes":       {[]*v1.NodePool{wide}, nil, nil},
		"no nodes are known":   {[]*v1.NodePool{elsewhere}, nil, []string{`pool "b" no longer waits for it`}},
	} {
		cluster, d := Cluster{Pools: live}, &Difference{Pools: &PoolsPlan{}}
		for _, node := range c.nodes {
			cluster.Nodes = append(cluster.Nodes, &NodeState{Name: node})
		}
		for _, want := range c.changes {
			change := PoolChange{Name: want.Name, Action: Create, Want: want}
			if i := slices.IndexFunc(live, func(pool *v1.NodePool) bool { return pool.Name == want.Name }); i >= 0 {
				change.Action, change.Live = Update, live[i]
			}
			d.PoolChanges = append(d.PoolChanges, change)
		}
		d.Pools.Changes = d.PoolChanges
		var got []string
		d.accept(Revision{}, cluster)
		d.accept(Revision{}, cluster)
		for _, w := range d.Weakenings(cluster, closedAt) {
			if got = append(got, w.Changes...); w.Pool != "freeze" {
				t.Errorf("%s: %s", name, w)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Of many pools the first few are named: each may stand in another relation to each other.
func TestWeakeningsNameTheFirst(t *testing.T) {
	d := &Difference{Pools: &PoolsPlan{}}
	var live []*v1.NodePool
	for _, name := range []string{"e", "c", "a", "d", "b", "freeze"} {
		define := func(priority int32) *v1.NodePool {
			return waitingPool(name, func(pool *v1.NodePool) {
				pool.Spec.Priority, pool.Spec.Rollout = priority, &v1.Rollout{Paused: true}
			})
		}
		was, is := define(0), define(1)
		if name == "freeze" {
			was, is = define(1), define(0)
		}
		live = append(live, was)
		d.PoolChanges = append(d.PoolChanges, PoolChange{Name: name, Action: Update, Live: was, Want: is})
	}
	d.Pools.Changes = d.PoolChanges
	want := []string{`weakens the rollout of pool "freeze": pools "a", "b", "c" and others no longer wait for it`}
	var got []string
	d.accept(Revision{}, Cluster{Pools: live})
	for _, weakening := range d.Weakenings(Cluster{Pools: live}, closedAt) {
		got = append(got, weakening.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Of several pools the waves and the drain of the strongest count: one that becomes it takes
// the place of the others.
func TestWeakeningsByReplacement(t *testing.T) {
	one := intstr.FromInt32(1)
	careful := &v1.Rollout{Waves: []v1.Wave{{Name: "canary", Nodes: &one, Approval: v1.ApprovalRequired}}, Drain: drains("1h", "").Drain}
	hasty := &v1.Rollout{Waves: []v1.Wave{{Name: "all"}}, Drain: drains("1m", v1.ForceOnTimeout).Drain}
	define := func(name string, priority int32, rollout *v1.Rollout, nodes ...string) *v1.NodePool {
		return waitingPool(name, func(pool *v1.NodePool) {
			pool.Spec.Priority, pool.Spec.NodeNames, pool.Spec.Rollout = priority, nodes, rollout
		})
	}
	gpu := define("gpu", 0, careful, "n*")
	replaced := []string{`the waves of pool "z" come in place of its own`, `the drain of pool "z" comes in place of its own`}
	for name, c := range map[string]struct {
		before, after *v1.NodePool
		want          []string
	}{
		"comes":                {nil, define("z", 1, hasty, "*"), replaced},
		"gets a rollout":       {define("z", 1, nil, "*"), define("z", 1, hasty, "*"), replaced},
		"gets waves":           {define("z", 1, &v1.Rollout{MaxUnavailable: &one}, "*"), define("z", 1, &v1.Rollout{Waves: hasty.Waves}, "*"), replaced[:1]},
		"becomes stronger":     {define("z", -1, hasty, "*"), define("z", 1, hasty, "*"), append([]string{`pool "z" no longer waits for it`}, replaced...)},
		"comes, and is weaker": {nil, define("z", -1, hasty, "*"), nil},
		"comes elsewhere":      {nil, define("z", 1, hasty, "m*"), nil},
		"was there":            {define("z", 1, hasty, "*"), define("z", 2, hasty, "*"), nil},
	} {
		cluster, d := Cluster{Pools: []*v1.NodePool{gpu}, Nodes: []*NodeState{{Name: "n1"}}}, &Difference{Pools: &PoolsPlan{}}
		change := PoolChange{Name: "z", Action: Create, Want: c.after}
		if c.before != nil {
			change.Action, change.Live = Update, c.before
			cluster.Pools = append(cluster.Pools, c.before)
		}
		d.PoolChanges = []PoolChange{change}
		d.Pools.Changes = d.PoolChanges
		var got []string
		d.accept(Revision{}, cluster)
		d.accept(Revision{}, cluster)
		for _, w := range d.Weakenings(cluster, closedAt) {
			if w.Pool == "gpu" {
				got = w.Changes
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func drains(timeout string, end v1.DrainTimeout) *v1.Rollout {
	d, err := time.ParseDuration(timeout)
	if err != nil {
		panic(err)
	}
	return &v1.Rollout{Drain: &v1.Drain{Timeout: &metav1.Duration{Duration: d}, OnTimeout: end}}
}
