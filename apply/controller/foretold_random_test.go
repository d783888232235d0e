package controller

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// randomScenario are pools that overlap, and a revision that changes, shrinks and deletes
// some of them.
type randomScenario struct {
	*scenario
	r *rand.Rand
}

// newRandomScenario is one of a seed. Its exclusions are near the start.
func newRandomScenario(seed uint64, prefix string, start time.Time) *scenario {
	s := &randomScenario{
		&scenario{
			name: fmt.Sprintf("seed %d", seed), prefix: prefix,
			before: map[string]*v1.NodePoolSpec{}, after: map[string]*v1.NodePoolSpec{},
		},
		rand.New(rand.NewPCG(seed, 29)),
	}
	var nodes []string
	for i := range 3 + s.r.IntN(6) {
		zone := s.pick("a", "b")
		node := &scenarioNode{
			Name: s.full(fmt.Sprintf("n%d", i)), Labels: map[string]string{"zone": zone, corev1.LabelTopologyZone: zone},
			cordoned: s.oneIn(30), paused: s.oneIn(30),
		}
		s.nodes = append(s.nodes, node)
		nodes = append(nodes, node.Name)
	}
	parents := false
	for i := range 1 + s.r.IntN(3) {
		name := fmt.Sprintf("p%d", i)
		before := &v1.NodePoolSpec{NodeNames: []string{prefix + "-*"}, Priority: int32(s.r.IntN(2))}
		if s.oneIn(3) {
			before.NodeNames = []string{"nobody"}
			for _, node := range nodes {
				if !s.oneIn(3) {
					before.NodeNames = append(before.NodeNames, node)
				}
			}
		}
		if i > 0 && s.oneIn(4) {
			before.Parent, parents = s.full("p0"), true
		}
		s.want(name, before)
		s.before[name] = before
	}
	for i := range len(s.before) {
		name := fmt.Sprintf("p%d", i)
		after := s.before[name].DeepCopy()
		if !s.oneIn(6) {
			s.want(name, after)
		}
		if s.oneIn(6) {
			after.NodeNames = []string{s.pick(nodes...)}
		}
		if !s.oneIn(5) {
			after.Rollout = s.rollout(start)
		}
		if s.oneIn(8) && (i > 0 || !parents) {
			s.before[name].Rollout = after.Rollout
			continue
		}
		s.after[name] = after
	}
	s.start = s.before
	return s.scenario
}

func (s *randomScenario) oneIn(n int) bool { return s.r.IntN(n) == 0 }

func (s *randomScenario) pick(of ...string) string { return of[s.r.IntN(len(of))] }

// minutes are so many at most, and never those after which it is decided anew in any case.
func (s *randomScenario) minutes(most int) *metav1.Duration {
	minutes := s.r.IntN(most + 1)
	if minutes == 10 {
		minutes = 11
	}
	return &metav1.Duration{Duration: time.Duration(minutes) * time.Minute}
}

func (s *randomScenario) want(name string, pool *v1.NodePoolSpec) {
	value := fmt.Sprint(s.r.IntN(20))
	pool.Labels, pool.Taints = map[string]v1.LabelValue{s.key(name): v1.LabelValue(value)}, nil
	if !s.oneIn(3) {
		pool.Taints = []v1.Taint{{Key: s.key(name), Value: value, Effect: corev1.TaintEffectNoSchedule}}
	}
}

func (s *randomScenario) rollout(start time.Time) *v1.Rollout {
	r := &v1.Rollout{Paused: s.oneIn(30)}
	for range s.r.IntN(3) {
		r.Windows = append(r.Windows, v1.Window{
			Schedule: v1.Schedule(s.pick("0 13 * * *", "*/40 * * * *", "30 */2 * * *", "15 14-18 * * *")),
			TimeZone: v1.TimeZone(s.pick("", "Europe/Berlin", "America/St_Johns")),
			Duration: metav1.Duration{Duration: time.Duration(1+s.r.IntN(50)) * time.Minute},
		})
	}
	if s.oneIn(5) {
		from := metav1.NewTime(start.Add(time.Duration(s.r.IntN(90)) * time.Minute))
		to := metav1.NewTime(from.Add(time.Duration(1+s.r.IntN(90)) * time.Minute))
		r.Exclusions = []v1.Exclusion{{Start: &from, End: &to}}
	}
	if empty := len(r.Windows)+len(r.Exclusions) == 0; empty || !s.oneIn(3) { // an empty rollout is none
		limit := intstr.Parse(s.pick("1", "1", "2", "50%"))
		if s.oneIn(12) {
			limit = intstr.FromInt32(0)
		}
		r.MaxUnavailable, r.MinReady = &limit, s.minutes(20)
	}
	if s.oneIn(4) {
		r.Order = v1.OrderByZone
	}
	if s.oneIn(2) {
		for _, name := range []string{"canary", "second"}[:1+s.r.IntN(2)] {
			r.Waves = append(r.Waves, s.wave(name))
		}
	}
	return r
}

func (s *randomScenario) wave(name string) v1.Wave {
	nodes := intstr.Parse(s.pick("1", "2", "50%"))
	wave := v1.Wave{Name: name, Nodes: &nodes}
	if s.oneIn(2) {
		wave.Selector = &v1.WaveSelector{MatchLabels: map[string]v1.LabelValue{"zone": "b"}}
	}
	if !s.oneIn(3) {
		wave.Soak = s.minutes(30)
	}
	if s.oneIn(3) {
		wave.Approval = v1.ApprovalRequired
	}
	return wave
}
