package compare_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/compare"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/render/folder"
)

func sourceNamed(name string) *v1.NodePoolSource {
	return &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid"}}
}

func TestChooseSource(t *testing.T) {
	cases := map[string]struct {
		reason  string
		sources []string
		name    string
		want    string // empty for none
		wrong   bool
	}{
		"none":         {"pools are made by hand then", nil, "", "", false},
		"only":         {"which one is meant is plain", []string{"a"}, "", "a", false},
		"named":        {"the name says which", []string{"a", "b"}, "b", "b", false},
		"several":      {"which one is meant cannot be guessed", []string{"a", "b"}, "", "", true},
		"missing":      {"another one is not what is meant", []string{"a"}, "b", "", true},
		"none of them": {"there is none at all", nil, "b", "", true},
	}
	for name, c := range cases {
		state := &observe.State{}
		for _, source := range c.sources {
			state.Sources = append(state.Sources, sourceNamed(source))
		}
		source, err := compare.ChooseSource(state, c.name)
		got := ""
		if source != nil {
			got = source.Name
		}
		if got != c.want || (err != nil) != c.wrong {
			t.Errorf("%s: %q and the error %v, want %q: %s", name, got, err, c.want, c.reason)
		}
	}
}

// A comparison with one file deletes no pool that is not in it, and reports no problem
// of one, whatever the text of the problem begins with.
func TestFilesLeaveOtherPoolsOut(t *testing.T) {
	faulty := func(name string) *v1.NodePool {
		return &v1.NodePool{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: "1", Labels: map[string]string{v1.SourceLabel: "a"}, Annotations: map[string]string{v1.SourceUIDAnnotation: "uid"}},
			Spec:       v1.NodePoolSpec{Parent: "gone"},
		}
	}
	state := &observe.State{Cluster: plan.Cluster{Pools: []*v1.NodePool{faulty("mine"), faulty("other")}}, Sources: []*v1.NodePoolSource{sourceNamed("a")}}
	pools := &folder.Pools{Path: "pools/mine.yaml", Single: true, Definitions: []render.Definition{{Pool: faulty("mine"), File: "mine.yaml"}}}
	sides, err := compare.Files(pools, state, "")
	if err != nil {
		t.Fatal(err)
	}
	difference, err := sides.Difference()
	if err != nil {
		t.Fatal(err)
	}
	if deletes := difference.Pools.Deletes(); len(deletes) > 0 {
		t.Errorf("%d pools are deleted", len(deletes))
	}
	if len(difference.Problems) != 1 || difference.Problems[0].Pool != "mine" {
		t.Errorf("the problems are %v, want that of mine", difference.Problems)
	}
	if sides.Files[0].File != "pools/mine.yaml" {
		t.Errorf("the file is named %s", sides.Files[0].File)
	}
}
