package plan

import (
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// TestAPauseMovesNoKeyOfNestedPools: a wall w and a weaker pool c within it want a key, and so
// does a third pool x, which is weaker than the wall and stronger than c. Whoever is paused, the
// key has the value that it has once they are resumed.
func TestAPauseMovesNoKeyOfNestedPools(t *testing.T) {
	w := waitingPool("w", all(prior(9), labelled("wall")))
	c := waitingPool("c", all(inside("w"), labelled("mine")))
	x := waitingPool("x", all(prior(5), labelled("third")))
	weak := waitingPool("x", all(prior(-1), labelled("third")))
	silent := waitingPool("c", inside("w"))
	type pools []*v1.NodePool
	for name, sequence := range map[string]struct {
		before, after, resumed pools
		want                   string
	}{
		"the third one is paused":                            {pools{w, c, x}, pools{w, c, paused(x.DeepCopy())}, pools{w, c, x}, "wall"},
		"the third one is paused, and weaker than both":      {pools{w, c, weak}, pools{w, c, paused(weak.DeepCopy())}, pools{w, c, weak}, "mine"},
		"the third one has the key and is paused":            {pools{x}, pools{w, c, paused(x.DeepCopy())}, pools{w, c, x}, "wall"},
		"the inner one is paused":                            {pools{w, c}, pools{w, paused(c.DeepCopy())}, pools{w, c}, "mine"},
		"the inner one is paused when the third one comes":   {pools{w, c}, pools{w, paused(c.DeepCopy()), x}, pools{w, c, x}, "wall"},
		"the inner one is paused when a weaker one comes":    {pools{w, c}, pools{w, paused(c.DeepCopy()), weak}, pools{w, c, weak}, "mine"},
		"the inner one wants nothing any more and is paused": {pools{w, c}, pools{w, paused(silent.DeepCopy()), x}, pools{w, silent, x}, "wall"},
		"the wall is paused":                                 {pools{w, c, x}, pools{paused(w.DeepCopy()), c, x}, pools{w, c, x}, "wall"},
		"the wall and the third one are paused":              {pools{w, c, x}, pools{paused(w.DeepCopy()), c, paused(x.DeepCopy())}, pools{w, c, x}, "wall"},
	} {
		t.Run(name, func(t *testing.T) {
			node := followed(t, longAgo, sequence.before...)
			for _, pools := range []pools{sequence.after, sequence.resumed} {
				p, err := Node(node, expand(pools...))
				if err != nil {
					t.Fatal(err)
				}
				node = p.After(node)
				if value := node.Labels[key]; value != sequence.want {
					t.Errorf("it has %q, want %q", value, sequence.want)
				}
			}
		})
	}
}
