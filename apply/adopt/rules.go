package adopt

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// rules decide which labels and taints pools may have.
type rules struct {
	options Options
	// pools are those that there are; nil where there are none.
	pools *render.Expansion
	// selectedBy are the keys by which existing pools choose, and one of them.
	selectedBy map[string]string
	// refused caches the result of validation by feature.
	refused map[feature]string
}

func newRules(cluster plan.Cluster, o Options) *rules {
	r := &rules{options: o, selectedBy: map[string]string{}, refused: map[feature]string{}}
	if len(cluster.Pools) == 0 {
		return r
	}
	r.pools = plan.Expand(cluster.Pools, cluster.Numbers)
	for _, pool := range cluster.Pools {
		if pool.Spec.Selector == nil {
			continue
		}
		keys := slices.Collect(maps.Keys(pool.Spec.Selector.MatchLabels))
		for _, expression := range pool.Spec.Selector.MatchExpressions {
			keys = append(keys, expression.Key)
		}
		for _, key := range keys {
			if first, found := r.selectedBy[key]; !found || pool.Name < first {
				r.selectedBy[key] = pool.Name
			}
		}
	}
	return r
}

// nodeRules are the rules for what one node carries.
type nodeRules struct {
	*rules
	underlying map[string]string
	record     plan.Record
	desired    render.Desired
	// labelSetters are the field managers that set each label, and taintSetters those of
	// all taints, sorted.
	labelSetters map[string][]string
	taintSetters []string
}

// on reads the owners of the keys of a node. It returns an error where its
// record cannot be read.
func (r *rules) on(node *plan.NodeState) (*nodeRules, error) {
	underlying, err := plan.UnderlyingLabels(node)
	if err != nil {
		return nil, err
	}
	record, err := plan.ParseRecord(node.Annotations[v1.AppliedAnnotation])
	if err != nil {
		return nil, err
	}
	on := &nodeRules{rules: r, underlying: underlying, record: record, labelSetters: map[string][]string{}}
	if r.pools != nil {
		on.desired = r.pools.Node(node.Name, underlying)
	}
	for _, setter := range plan.SettersOf(node).All() {
		for _, key := range setter.Labels {
			on.labelSetters[key] = append(on.labelSetters[key], setter.Manager)
		}
		if setter.Taints {
			on.taintSetters = append(on.taintSetters, setter.Manager)
		}
	}
	return on, nil
}

// refusal returns why no pool gets a label or taint, as [LeftOut] has it; empty
// where one may have it.
//
// What pools have already, and what nodepools refuses, is never for a pool. Else what
// the options say goes first, then who set it, then its domain.
func (n *nodeRules) refusal(f feature) string {
	if why := n.poolOf(f); why != "" {
		return why
	}
	if why := n.validate(f); why != "" {
		return why
	}
	switch {
	case matches(n.options.Exclude, f.name()):
		return excluded
	case slices.Contains(n.options.SelectBy, f.name()) && f.field == plan.Label:
		return choosesMembers
	case f.field == plan.Label && n.selectedBy[f.key] != "":
		return fmt.Sprintf("there for pool %q to choose its members by", n.selectedBy[f.key])
	case matches(n.options.Include, f.name()):
		return ""
	case f.field == plan.Taint:
		return taintOwner(f.name(), n.taintSetters)
	default:
		return labelOwner(f.key, n.labelSetters[f.key])
	}
}

// poolOf returns the pool that has a key, or wants it; empty for none.
func (n *nodeRules) poolOf(f feature) string {
	var entry plan.Entry
	var want render.Want
	var recorded, wanted bool
	if f.field == plan.Taint {
		var id render.TaintID
		if id.UnmarshalText([]byte(f.key)) == nil {
			entry, recorded = n.record.Taints[id]
			want, wanted = n.desired.Taints[id]
		}
	} else {
		entry, recorded = n.record.Labels[f.key]
		want, wanted = n.desired.Labels[f.key]
	}
	switch {
	case recorded:
		return fmt.Sprintf("of pool %q already", entry.Pool)
	case wanted:
		return fmt.Sprintf("wanted by pool %q already", want.Pool)
	}
	return ""
}

// validate returns why no pool of the policy Adopt may have a label or taint:
// by the same function that refuses it in a file.
func (r *rules) validate(f feature) string {
	switch {
	case f.field == plan.Taint && v1.IsConditionTaint(f.name()):
		return "a condition of a node, which Kubernetes or an agent reports"
	case f.field == plan.Taint && v1.ReportOnlyTaint(f.name()), f.field == plan.Label && v1.ReportOnlyLabel(f.key):
		return "belongs to Kubernetes or another controller"
	}
	if why, asked := r.refused[f]; asked {
		return why
	}
	// Members of its own choice, and a name that is nobody's role.
	pool := &v1.NodePool{Spec: v1.NodePoolSpec{ConflictPolicy: v1.Adopt, NodeNames: []string{"n"}}}
	pool.Name = "n"
	put(&pool.Spec, f)
	why := ""
	if problems := v1.ValidateNodePool(pool); len(problems) > 0 {
		why = "not valid"
		if problems[0].Type == field.ErrorTypeForbidden {
			why = problems[0].Detail
		}
	}
	r.refused[f] = why
	return why
}

// put adds a label or taint to what a pool carries.
func put(spec *v1.NodePoolSpec, f feature) {
	if f.field == plan.Label {
		if spec.Labels == nil {
			spec.Labels = map[string]v1.LabelValue{}
		}
		spec.Labels[f.key] = v1.LabelValue(f.value)
		return
	}
	key, effect, _ := strings.Cut(f.key, ":")
	spec.Taints = append(spec.Taints, v1.Taint{Key: key, Value: f.value, Effect: corev1.TaintEffect(effect)})
}

// matches reports whether one of the patterns, which are valid, matches a key.
func matches(patterns []string, key string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		matched, err := path.Match(pattern, key)
		return err == nil && matched
	})
}
