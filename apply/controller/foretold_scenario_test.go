package controller

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// scenario is a change of pools that a rollout carries out. Pools have keys of their own,
// example.com/<pool>, by which it is known whose change has come to a node.
type scenario struct {
	name string
	// alike is another scenario, which takes its place in the short form: it tests the same,
	// and more.
	alike string
	// on are its nodes: "n1 n2/zone=a n3/cordoned". They are cordoned, paused, unready or have a
	// condition, as DiskPressure=True, from when second was carried out; a recovered one was not
	// ready for a moment then.
	on string
	// first and then are the pools before and after the revision, by name, in YAML. $ stands
	// for the prefix of all names. Without more, a pool has all nodes of the scenario, and a
	// label "1" before, and "2" after. Empty is first where it is then without rollouts.
	// Where there is a second, it is a revision in between, which nodes have begun to follow
	// when nodes fail, and first is what was before that; its label is "2".
	first, second, then string
	// resumed are the pools of which somebody has resumed the rollouts before the last revision.
	resumed []string
	// approvedAfter is how long who has to approve takes for it; below 0 he never does.
	approvedAfter time.Duration
	// late is by how much nodes may be later than foretold, for what is not foretold; and
	// never reports that some of them may not follow at all.
	late  time.Duration
	never bool
	// joins are pools of which nodes get all at once, as they are new to them.
	joins []string
	// happens is what happens, in UTC: "Sat 12:10 n1 n2; Sat 12:20 n3".
	happens string

	prefix string
	nodes  []*scenarioNode
	// start are the pools of the first revision, before those when the last one is merged.
	start, before, after map[string]*v1.NodePoolSpec
	// created is when the pools were created before the last revision is merged.
	created map[string]time.Time
	// approved are the waves that were approved: "pool/wave".
	approved []string
}

// scenarioNode is a node of a scenario.
type scenarioNode struct {
	Name                                 string
	Labels                               map[string]string
	cordoned, paused, unready, recovered bool
	condition                            *corev1.NodeCondition
}

// undisturbed reports whether the node is what it was when it came.
func (n *scenarioNode) undisturbed() bool {
	return !n.cordoned && !n.paused && !n.unready && !n.recovered && n.condition == nil
}

// nothing is what happens where no node follows.
const nothing = "nothing"

func intstrPercent(n int) intstr.IntOrString { return intstr.FromString(fmt.Sprintf("%d%%", n)) }

// full is the name of a pool or a node in the cluster, and key that of the key of a pool; keys
// are that and another one that it may have.
func (s *scenario) full(name string) string { return s.prefix + "-" + name }

func (s *scenario) key(pool string) string { return "example.com/" + s.full(pool) }

func (s *scenario) keys(pool string) []string { return []string{s.key(pool), s.key(pool) + ".x"} }

// names are the pools of all revisions.
func (s *scenario) names() map[string]bool {
	names := map[string]bool{}
	for _, pools := range []map[string]*v1.NodePoolSpec{s.start, s.before, s.after} {
		for name := range pools {
			names[name] = true
		}
	}
	return names
}

// prepare reads the texts of a scenario.
func (s *scenario) prepare(prefix string) error {
	s.prefix = prefix
	for text := range strings.FieldsSeq(s.on) {
		name, rest, _ := strings.Cut(text, "/")
		node := &scenarioNode{Name: s.full(name), Labels: map[string]string{}}
		for _, what := range strings.Split(rest, ",") {
			switch zone, found := strings.CutPrefix(what, "zone="); {
			case found:
				node.Labels["zone"], node.Labels[corev1.LabelTopologyZone] = zone, zone
			case what == "cordoned":
				node.cordoned = true
			case what == "paused":
				node.paused = true
			case what == "unready":
				node.unready = true
			case what == "recovered":
				node.recovered = true
			case strings.Contains(what, "="):
				kind, status, _ := strings.Cut(what, "=")
				node.condition = &corev1.NodeCondition{Type: corev1.NodeConditionType(kind), Status: corev1.ConditionStatus(status)}
			case what != "":
				return fmt.Errorf("scenario %s: node %s is %q", s.name, name, what)
			}
		}
		s.nodes = append(s.nodes, node)
	}
	return s.revisions()
}

// revisions reads the pools of a scenario.
func (s *scenario) revisions() (err error) {
	if s.after, err = s.read(s.then, "2"); err != nil {
		return err
	}
	if s.first != "" {
		s.start, err = s.read(s.first, "1")
	} else {
		s.start, err = s.read(cmp.Or(s.second, s.then), "1")
		for _, spec := range s.start {
			spec.Rollout = nil
		}
	}
	s.before = s.start
	if err == nil && s.second != "" {
		s.before, err = s.read(s.second, "2")
	}
	return err
}

// read reads pools.
func (s *scenario) read(text, value string) (map[string]*v1.NodePoolSpec, error) {
	specs := map[string]*v1.NodePoolSpec{}
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(text, "$", s.prefix+"-")), &specs); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.name, err)
	}
	for name, spec := range specs {
		if spec.NodeNames == nil && spec.Selector == nil {
			spec.NodeNames = []string{s.prefix + "-*"}
		}
		if spec.Labels == nil && spec.Taints == nil {
			spec.Labels = map[string]v1.LabelValue{s.key(name): v1.LabelValue(value)}
		}
		for key, given := range spec.Labels {
			if given == "VALUE" {
				spec.Labels[key] = v1.LabelValue(value)
			}
		}
		for i := range spec.Taints {
			if spec.Taints[i].Value == "VALUE" {
				spec.Taints[i].Value = value
			}
		}
	}
	return specs, nil
}

// files are those of pools, and what is deleted of those before.
func (s *scenario) files(specs, before map[string]*v1.NodePoolSpec) files {
	all := files{}
	path := func(name string) string { return "pools/" + s.full(name) + ".yaml" }
	for name := range before {
		all[path(name)] = ""
	}
	for name, spec := range specs {
		all[path(name)] = poolText(s.full(name), spec)
	}
	return all
}

// spec is a pool after the revision, or before where that deletes it.
func (s *scenario) spec(pool string) (spec *v1.NodePoolSpec, deleted bool) {
	name := strings.TrimPrefix(pool, s.prefix+"-")
	if spec, still := s.after[name]; still {
		return spec, false
	}
	return s.before[name], true
}

// orders reports whether changes of a pool wait for the rollout of another one: of the pool
// itself, one around it, or a stronger one, by priority, then age. Pools that come with the last
// revision are younger than those before, and of ages in the order of their names.
func (s *scenario) orders(ordering, changing string) bool {
	if ordering == changing {
		return true
	}
	spec, deleted := s.spec(ordering)
	if deleted {
		return false
	}
	other, _ := s.spec(changing)
	for around := other.Parent; around != ""; {
		if around == ordering {
			return true
		}
		enclosing, _ := s.spec(around)
		around = enclosing.Parent
	}
	if spec.Priority != other.Priority {
		return spec.Priority > other.Priority
	}
	_, older := s.before[strings.TrimPrefix(ordering, s.prefix+"-")]
	_, otherOlder := s.before[strings.TrimPrefix(changing, s.prefix+"-")]
	if older != otherOlder {
		return older
	}
	return cmp.Or(s.created[ordering].Compare(s.created[changing]), strings.Compare(ordering, changing)) < 0
}

// prepared are scenarios with prefixes of their own.
func prepared(scenarios []*scenario) ([]*scenario, error) {
	for i, s := range scenarios {
		if err := s.prepare(fmt.Sprintf("s%02d", i+1)); err != nil {
			return nil, err
		}
	}
	return scenarios, nil
}
