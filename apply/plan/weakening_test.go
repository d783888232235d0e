package plan

import (
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
		want          []string
	}{
		"none":                      {nil, nil, nil},
		"comes":                     {nil, unavailable("1"), nil},
		"the same":                  {unavailable("1"), unavailable("1"), nil},
		"removed":                   {unavailable("1"), nil, []string{"the rollout is removed"}},
		"higher":                    {unavailable("1"), unavailable("5"), []string{"maxUnavailable 1 -> 5"}},
		"lower":                     {unavailable("5"), unavailable("1"), nil},
		"a higher part":             {unavailable("10%"), unavailable("20%"), []string{"maxUnavailable 10% -> 20%"}},
		"a part of many":            {unavailable("5"), unavailable("10%"), []string{"maxUnavailable 5 -> 10%"}},
		"none of any":               {unavailable("5%"), unavailable("0"), nil},
		"no limit":                  {unavailable("0"), &v1.Rollout{MinReady: minutes(1)}, []string{"maxUnavailable 0 -> any"}},
		"no drain":                  {drains("1h", ""), &v1.Rollout{Paused: true}, []string{"drain Hold -> none"}},
		"a drain by force":          {drains("1h", ""), drains("1h", v1.ForceOnTimeout), []string{"drain Hold -> Force after 1h0m0s"}},
		"less time by force":        {drains("1h", v1.ForceOnTimeout), drains("2m", v1.ForceOnTimeout), []string{"drain Force after 1h0m0s -> Force after 2m0s"}},
		"less time, and held":       {drains("1h", ""), drains("2m", ""), nil},
		"a drain, no more by force": {drains("1h", v1.ForceOnTimeout), drains("1h", v1.HoldOnTimeout), nil},
		"more failures":             {failures("0"), failures("1"), []string{"maxFailures 0 -> 1"}},
		"some failures":             {&v1.Rollout{Paused: true}, failures("1"), []string{"maxFailures 0 -> 1"}},
		"no more failures":          {failures("1"), &v1.Rollout{Paused: true}, nil},
		"longer progressDeadline":   {&v1.Rollout{ProgressDeadline: minutes(1)}, &v1.Rollout{ProgressDeadline: minutes(2)}, []string{"progressDeadline 1m0s -> 2m0s"}},
		"no condition":              {conditioned("A", "B=False"), conditioned("B=False"), []string{"condition A=True is removed"}},
		"another status":            {conditioned("A"), conditioned("A=False"), []string{"condition A=True is removed"}},
		"the same, spelled out":     {conditioned("A"), conditioned("A=True", "B"), nil},
		"no progressDeadline":       {&v1.Rollout{ProgressDeadline: minutes(1)}, &v1.Rollout{MaxUnavailable: new(intstr.FromInt32(1))}, []string{"progressDeadline 1m0s -> 0s"}},
		"shorter progressDeadline":  {&v1.Rollout{ProgressDeadline: minutes(2)}, &v1.Rollout{ProgressDeadline: minutes(1)}, nil},
		"shorter minReady":          {&v1.Rollout{MinReady: minutes(2)}, &v1.Rollout{MinReady: minutes(1)}, []string{"minReady 2m0s -> 1m0s"}},
		"longer minReady":           {&v1.Rollout{MinReady: minutes(1)}, &v1.Rollout{MinReady: minutes(2)}, nil},
		"wave goes":                 {waves(canary, waveOf("b", "2", nil)), waves(waveOf("b", "2", nil)), []string{"wave canary is removed or changed"}},
		"wave comes":                {waves(canary), waves(canary, waveOf("b", "2", nil)), nil},
		"larger, with no soak":      {waves(canary), waves(waveOf("canary", "3", nil)), []string{"wave canary is removed or changed"}},
		"a wave between":            {waves(canary, waveOf("c", "2", nil)), waves(canary, waveOf("b", "2", nil), waveOf("c", "2", nil)), []string{"wave c is removed or changed"}},
		"a wave before all":         {waves(canary), waves(waveOf("a", "99%", nil), canary), []string{"wave canary is removed or changed"}},
		"a longer soak":             {waves(canary), waves(waveOf("canary", "1", func(w *v1.Wave) { w.Soak, w.Approval = minutes(60), v1.ApprovalRequired })), nil},
		"another order":             {waves(canary, waveOf("b", "2", nil)), waves(waveOf("b", "2", nil), canary), []string{"wave canary is removed or changed"}},
		"a wider selector":          {waves(canary), waves(waveOf("canary", "1", func(w *v1.Wave) { *w = canary; w.Selector = linux })), []string{"wave canary is removed or changed"}},
		"a smaller wave":            {waves(waveOf("b", "50%", nil)), waves(waveOf("b", "1", nil)), []string{"wave b is removed or changed"}},
		"zones at once":             {&v1.Rollout{Order: v1.OrderByZone, Paused: true}, &v1.Rollout{Paused: true}, []string{"order Zone removed"}},
		"zone by zone":              {&v1.Rollout{Paused: true}, &v1.Rollout{Order: v1.OrderByZone, Paused: true}, nil},
		"windows go":                {windows(night), unavailable("1"), []string{"windows are removed"}},
		"windows come":              {unavailable("1"), &v1.Rollout{MaxUnavailable: limit("1"), Windows: []v1.Window{night}}, nil},
		"one window less":           {windows(night, noon), windows(night), nil},
		"one window more":           {windows(night), windows(night, noon), []string{`window "0 12 * * *" for 1h0m0s is new`}},
		"a longer window":           {windows(night), windows(long), []string{`window "0 2 * * *" for 1h1m0s is new`}},
		"a shorter window":          {windows(long), windows(night), nil},
		"in another zone":           {windows(night), windows(elsewhere), []string{`window "0 2 * * *" for 1h0m0s is new`}},
		"exclusion goes":            {excludes(peak, freeze), excludes(freeze), []string{`exclusion "peak" is removed or shorter`}},
		"exclusion comes":           {excludes(freeze), excludes(peak, freeze), nil},
		"a shorter exclusion":       {excludes(peak), excludes(shorter), []string{`exclusion "peak" is removed or shorter`}},
		"a longer exclusion":        {excludes(peak), excludes(longer), nil},
		"exclusion is over":         {excludes(over, freeze), excludes(freeze), nil},
		"a shorter one that recurs": {excludes(freeze), excludes(shortFreeze), []string{`exclusion "@daily" is removed or shorter`}},
		"goes on":                   {&v1.Rollout{Paused: true, MaxUnavailable: limit("1")}, unavailable("1"), []string{"paused no longer"}},
		"paused":                    {unavailable("1"), &v1.Rollout{Paused: true, MaxUnavailable: limit("1")}, nil},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, Weakened(c.before, c.after, closedAt)); diff != "" {
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
	d := &Difference{PoolChanges: []PoolChange{
		{Name: "weaker", Action: Update, Live: pool("weaker", strict), Want: pool("weaker", weak)},
		{Name: "stronger", Action: Update, Live: pool("stronger", weak), Want: pool("stronger", strict)},
		{Name: "comes", Action: Create, Want: pool("comes", weak)},
		{Name: "gone", Action: Delete, Live: pool("gone", strict)},
		{Name: "plain", Action: Delete, Live: pool("plain", nil)},
	}}
	var got []string
	for _, w := range d.Weakenings(closedAt) {
		got = append(got, w.String())
	}
	want := []string{`weakens the rollout of pool "gone": the rollout is removed`, `weakens the rollout of pool "weaker": maxUnavailable 1 -> 5`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func drains(timeout string, end v1.DrainTimeout) *v1.Rollout {
	d, err := time.ParseDuration(timeout)
	if err != nil {
		panic(err)
	}
	return &v1.Rollout{Drain: &v1.Drain{Timeout: &metav1.Duration{Duration: d}, OnTimeout: end}}
}
