package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// TestNewPoolsAreOrdered: pools that contend for a key are created in the order that
// the plan goes by, and no others wait.
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
	cases := map[string]struct {
		reason string
		new    []render.Definition
		live   []*v1.NodePool
		// want is, by pool, the one that goes before it and the second it waits for.
		want map[string]string
	}{
		"nobody contends":  {"each may be created at any time", []render.Definition{labelled("a", "1", 0), labelled("b", "1", 0), labelled("c", "2", 1)}, nil, nil},
		"three contend":    {"one after the other, by name", []render.Definition{labelled("c", "1", 0), labelled("a", "2", 0), labelled("b", "1", 0)}, nil, map[string]string{"b": "a 0", "c": "b 0"}},
		"two groups":       {"a group does not wait for another", []render.Definition{labelled("a", "1", 0), other("b"), labelled("c", "2", 0), other("d")}, nil, map[string]string{"c": "a 0", "d": "b 0"}},
		"with one that is": {"later than the one that is there", []render.Definition{labelled("a", "1", 0)}, []*v1.NodePool{standing("z", "2", 7), standing("y", "2", 5)}, map[string]string{"a": " 7"}},
		"agrees with it":   {"it makes no difference", []render.Definition{labelled("a", "1", 0)}, []*v1.NodePool{standing("z", "1", 7)}, nil},
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
