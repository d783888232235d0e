package explain_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/explain"
)

// Why pools within another one do not override it: nothing else says that.
func TestUnheardPoolsAreNamed(t *testing.T) {
	pool := func(name, parent string, priority int32) *v1.NodePool {
		pool := gpuPool("")
		pool.Name, pool.UID = name, ""
		pool.Spec.NodeNames, pool.Spec.Parent, pool.Spec.Priority = []string{"*"}, parent, priority
		pool.Spec.Labels = map[string]v1.LabelValue{"tier": v1.LabelValue(name)}
		return pool
	}
	gpu, team, third := pool("gpu", "", 9), pool("team", "gpu", 0), pool("third", "", 5)
	third.Annotations = map[string]string{v1.ReconcileAnnotation: v1.Disabled}
	several := []*v1.NodePool{pool("a", "gpu", 0), pool("b", "a", 1), pool("c", "a", 1)}
	for text, pools := range map[string][]*v1.NodePool{
		"label  tier=gpu (not overridden by pool team, which is weaker than pool third)":                {gpu, team, third},
		"label  tier=gpu (not overridden by pools a, b, c, and more, which are weaker than pool third)": append(several, gpu, team, third),
		"label  tier=gpu -> team (until now of pool gpu)":                                               {gpu, team},
	} {
		node := applied(t, gpuNode(nil), gpu, team, third)
		e := explain.Node(node, pools, time.Time{})
		var written bytes.Buffer
		if err := e.WriteText(&written); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(written.String()), " "); !strings.Contains(got, strings.Join(strings.Fields(text), " ")) {
			t.Errorf("want %q in:\n%s", text, written.String())
		}
		document, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if unheard := strings.Contains(string(document), `"unheard":["`) && strings.Contains(string(document), `"third":"third"`); unheard != strings.Contains(text, "third") {
			t.Errorf("as JSON it is %s", document)
		}
	}
}
