package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// TestNewPoolsAreOrdered: pools that contend for a key, or one of which waits for the rollout
// of another, or whose annotations may not all fit on a node, are created in the order that the
// plan goes by, and no others wait.
func TestNewPoolsAreOrdered(t *testing.T) {
	labelled := func(name, value string, priority int32) render.Definition {
		return render.Definition{Pool: define(name, v1.NodePoolSpec{Priority: priority, Labels: map[string]v1.LabelValue{"k": v1.LabelValue(value)}})}
	}
	standing := func(name, value string, created int64) *v1.NodePool {
		pool := labelled(name, value, 0).Pool
		pool.CreationTimestamp = metav1.Unix(created, 0)
		return pool
	}
	other := func(name string) render.Definition {
		return render.Definition{Pool: define(name, v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"other": v1.LabelValue(name)}})}
	}
	rolled := func(name string, priority int32) render.Definition {
		d := other(name)
		limit := intstr.FromInt32(1)
		d.Pool.Spec.Labels, d.Pool.Spec.Priority, d.Pool.Spec.Rollout = nil, priority, &v1.Rollout{MaxUnavailable: &limit}
		return d
	}
	annotated := func(name string, bytes int) render.Definition {
		d := other(name)
		d.Pool.Spec.Labels, d.Pool.Spec.Annotations = nil, map[string]v1.AnnotationValue{name: v1.AnnotationValue(strings.Repeat("x", bytes))}
		return d
	}
	rolling := rolled("y", 0).Pool
	rolling.CreationTimestamp = metav1.Unix(5, 0)
	cases := map[string]struct {
		reason string
		new    []render.Definition
		live   []*v1.NodePool
		// want is, by pool, the one that goes before it and the second it waits for.
		want map[string]string
	}{
		"nobody contends":            {"each may be created at any time", []render.Definition{labelled("a", "1", 0), labelled("b", "1", 0), labelled("c", "2", 1)}, nil, nil},
		"three contend":              {"one after the other, by name", []render.Definition{labelled("c", "1", 0), labelled("a", "2", 0), labelled("b", "1", 0)}, nil, map[string]string{"b": "a 0", "c": "b 0"}},
		"two groups":                 {"a group does not wait for another", []render.Definition{labelled("a", "1", 0), other("b"), labelled("c", "2", 0), other("d")}, nil, map[string]string{"c": "a 0", "d": "b 0"}},
		"with one that is":           {"later than the one that is there", []render.Definition{labelled("a", "1", 0)}, []*v1.NodePool{standing("z", "2", 7), standing("y", "2", 5)}, map[string]string{"a": " 7"}},
		"rollouts":                   {"the changes of one wait for the rollout of another", []render.Definition{rolled("c", 0), labelled("b", "1", 0), labelled("a", "1", 0), labelled("d", "1", 1)}, nil, map[string]string{"b": "a 0", "c": "b 0"}},
		"rollouts of two priorities": {"the stronger one goes first in any case", []render.Definition{rolled("a", 0), rolled("b", 1)}, nil, nil},
		"with a rollout that is":     {"later than that", []render.Definition{labelled("a", "1", 0)}, []*v1.NodePool{rolling}, map[string]string{"a": " 5"}},
		"much is annotated":          {"what is not first may find no room", []render.Definition{annotated("a", 33<<10), annotated("b", 33<<10)}, nil, map[string]string{"b": "a 0"}},
		"little is annotated":        {"there is room for both", []render.Definition{annotated("a", 9<<10), annotated("b", 9<<10)}, nil, nil},
		"agrees with it":             {"it makes no difference", []render.Definition{labelled("a", "1", 0)}, []*v1.NodePool{standing("z", "1", 7)}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := Pools(Revision{Pools: c.new}, c.live)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, change := range p.Changes {
				if seconds := max(change.NotBefore.Unix(), 0); change.CreateAfter != "" || !change.NotBefore.IsZero() {
					got[change.Name] = fmt.Sprint(change.CreateAfter, " ", seconds)
				}
			}
			if diff := cmp.Diff(c.want, got, cmpEmpty); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// What a plan that follows is made from has the pools that were created, in their
// order of age.
func TestPoolsAreDatedByThePlansThatCreateThem(t *testing.T) {
	cluster := Cluster{Pools: []*v1.NodePool{define("old", v1.NodePoolSpec{})}}
	cluster.Pools[0].CreationTimestamp = metav1.Unix(5, 0)
	for _, name := range []string{"z", "y"} {
		revision := Revision{Pools: []render.Definition{{Pool: define(name, v1.NodePoolSpec{})}}}
		d, err := Diff(revision, cluster)
		if err != nil {
			t.Fatal(err)
		}
		cluster = d.After(cluster)
	}
	ages := map[string]time.Time{}
	for _, pool := range cluster.Pools {
		ages[pool.Name] = pool.CreationTimestamp.Time
	}
	if !ages["old"].Before(ages["z"]) || !ages["z"].Before(ages["y"]) {
		t.Errorf("they were created at %v", ages)
	}
}
