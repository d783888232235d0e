package pools

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// However many nodes and keys are contested, the status names three and counts all.
func TestContestsStatusIsBounded(t *testing.T) {
	byNode := map[string][]plan.Contest{}
	for i := range 100 {
		name := fmt.Sprintf("n%02d", i)
		for key := range 5 {
			byNode[name] = append(byNode[name], plan.Contest{
				Field: plan.Label, Key: fmt.Sprint("k", key), Pool: "p", Managers: []string{fmt.Sprint("m", i)}, Repairs: 3 << (i % 3),
			})
		}
	}
	status := contestsStatus(byNode)
	if status.Nodes != 100 || status.Keys != 5 || len(status.First) != maxNamed {
		t.Errorf("contests are %+v", status)
	}
	want := v1.ContestedKey{
		Field: "label", Key: "k0", Nodes: 100, NodeNames: []string{"n00", "n01", "n02"}, Managers: []string{"m0", "m1", "m2"}, Repairs: 12,
	}
	if diff := cmp.Diff(want, status.First[0]); diff != "" {
		t.Errorf("the first (-want +got):\n%s", diff)
	}
	text := contestsIn("p", status).String()
	if !strings.HasSuffix(text, "; and 2 more") || strings.Count(text, "and 97 more") != maxNamed {
		t.Errorf("in words: %s", text)
	}
	if status := contestsStatus(nil); status != nil {
		t.Errorf("without contests the status has %+v", status)
	}
}

// An event is recorded when keys are contested that were not, and for nothing else.
func TestContestsThatAreNews(t *testing.T) {
	contests := func(keys ...string) *v1.Contests {
		c := &v1.Contests{Nodes: 1, Keys: int32(len(keys))}
		for _, key := range keys[:min(len(keys), maxNamed)] {
			c.First = append(c.First, v1.ContestedKey{Field: "label", Key: key, Nodes: 1, Repairs: 3})
		}
		return c
	}
	grown := contests("a")
	grown.Nodes, grown.First[0].Nodes, grown.First[0].Repairs, grown.First[0].Managers = 20, 20, 96, []string{"x"}
	cases := map[string]struct {
		reason  string
		was, is *v1.Contests
		want    bool
	}{
		"the first":         {"a fight begins", nil, contests("a"), true},
		"another key":       {"a second fight begins", contests("a"), contests("a", "b"), true},
		"another instead":   {"one fight ends and another begins", contests("a"), contests("b"), true},
		"more nodes":        {"it is the same fight", contests("a"), grown, false},
		"one less":          {"a fight ends", contests("a", "b"), contests("b"), false},
		"one of many less":  {"one that was counted is named now", contests("a", "b", "c", "d"), contests("b", "c", "d"), false},
		"one of many, more": {"a fight begins that is only counted", contests("a", "b", "c"), contests("a", "b", "c", "d"), true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := moreContested(c.was, c.is); got != c.want {
				t.Errorf("news is %t, want %t: %s", got, c.want, c.reason)
			}
		})
	}
}
