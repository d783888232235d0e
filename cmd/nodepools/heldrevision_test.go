package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// zonePool is a pool of the nodes of a zone.
func zonePool(name, zone, taint string) string {
	return fmt.Sprintf(`apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: %s}
spec:
  selector: {matchLabels: {zone: %s}}
  labels: {example.com/pool: %s}
  taints: [%s]
`, name, zone, name, taint)
}

const evictsAll = `apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: drained}
spec:
  nodeNames: ['*']
  taints: [{key: example.com/drained, effect: NoExecute}]
`

// A revision that would evict the pods of every node, and one that mistypes a selector, are
// held whole. What diff shows of the files before they are pushed, of the source after, and
// what the source says, is the same; the command that both name lets it through, and
// then diff has nothing to show.
func TestHeldRevisionIsShownAndApproved(t *testing.T) {
	c := cluster.Shared(t)
	var all []*corev1.Node
	for i := range 12 {
		all = append(all, nodeNamed(fmt.Sprintf("n%02d", i+1), map[string]string{"zone": "a"}))
	}
	all = append(all, nodeNamed("n1", nil)) // by which the rights of a user are known
	w := newWalled(t, c, all...)
	watched := []string{"example.com/pool", "example.com/drained", "example.com/new"}
	nodes := func(what string, want ...string) {
		t.Helper()
		for _, node := range all[:12] {
			w.has(what, node.Name, watched, want...)
		}
	}
	folder := w.writes(map[string]string{"p.yaml": zonePool("p", "a", "")})
	w.commits("first")
	w.follow("fleet")
	nodes("follows the first revision", "example.com/pool=p")
	w.says(&v1.NodePoolSource{}, "fleet", v1.SucceededReason)

	for _, held := range []struct {
		name  string
		files map[string]string
		loss  plan.Loss
		then  []string
	}{
		{
			"a taint that evicts, on every node", map[string]string{"drained.yaml": evictsAll, "p.yaml": zonePool("p", "a", `{key: example.com/new, effect: NoSchedule}`)},
			plan.Loss{Pool: "drained", Kind: plan.LossEvict, Nodes: []string{"n01", "n02", "n03"}, Count: 13, Of: 13},
			[]string{"example.com/pool=p", "example.com/drained=:NoExecute", "example.com/new=:NoSchedule"},
		},
		{
			"a selector that is mistyped", map[string]string{"p.yaml": zonePool("p", "A", ""), "q.yaml": zonePool("q", "b", "")},
			plan.Loss{Pool: "p", Kind: plan.LossLeave, Nodes: []string{"n01", "n02", "n03"}, Count: 12, Of: 12, Empties: true},
			[]string{"example.com/drained=:NoExecute"},
		},
	} {
		t.Run(held.name, func(t *testing.T) {
			before := w.standing(watched, all)
			w.writes(held.files)
			w.showsHeld(t, held.loss, folder)
			w.commits(held.name)
			command := w.showsHeld(t, held.loss, "--source", "fleet")
			message := w.says(&v1.NodePoolSource{}, "fleet", v1.ReleaseBlockedReason, held.loss.String())
			if !strings.Contains(message, command) {
				t.Errorf("diff names %q, and the source says %q", command, message)
			}
			if after := w.standing(watched, all); !slices.Equal(before, after) {
				t.Errorf("nodes had %q and have %q, while the revision is held", before, after)
			}
			out, err := exec.CommandContext(t.Context(), "nodepools", append(strings.Fields(command)[1:], "--yes", "--kubeconfig", c.Kubeconfig())...).CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", command, err, out)
			}
			nodes("follows the revision that was approved", held.then...)
			w.says(&v1.NodePoolSource{}, "fleet", v1.SucceededReason)
			if r, changes := w.diffs("--source", "fleet"); changes || len(r.HeldReleases) > 0 {
				t.Errorf("diff still shows %+v, %v", r.Summary, r.HeldReleases)
			}
		})
	}
}

var approveCommand = regexp.MustCompile(`nodepools approve source/[^\s;]+`)

// showsHeld holds diff to showing one change that is held, for one loss, and returns the
// command that approves it; of files it can name none.
func (w *walled) showsHeld(t *testing.T, loss plan.Loss, args ...string) (command string) {
	t.Helper()
	r, _ := w.diffs(args...)
	if len(r.HeldReleases) != 1 || r.Summary.Counts.ReleasesHeldBack != 1 {
		t.Fatalf("diff %v shows held: %+v", args, r.HeldReleases)
	}
	held := r.HeldReleases[0]
	if !slices.ContainsFunc(held.Losses, func(l plan.Loss) bool { return l.String() == loss.String() }) || len(held.Losses) != 1 {
		t.Errorf("diff %v shows the losses %v, want %v", args, held.Losses, loss)
	}
	if _, stderr, code := diffed(t, append(args, "--kubeconfig", w.c.Kubeconfig(), "--fail-on", "releasesHeldBack>0")...); code != exitExceeded {
		t.Errorf("diff %v with a threshold ends with %d: %s", args, code, stderr)
	}
	command = approveCommand.FindString(held.Remedy)
	if fromGit := args[0] == "--source"; (command != "") != fromGit {
		t.Errorf("diff %v says: %s", args, held.Remedy)
	}
	return command
}

// standing are some labels and taints of nodes, and who has them.
func (w *walled) standing(watched []string, nodes []*corev1.Node) []string {
	w.t.Helper()
	var all []string
	for _, each := range nodes {
		node := w.live(each.Name)
		for key, value := range node.Labels {
			if slices.Contains(watched, key) {
				all = append(all, node.Name+" "+key+"="+value)
			}
		}
		for _, taint := range node.Spec.Taints {
			if slices.Contains(watched, taint.Key) {
				all = append(all, node.Name+" "+taint.ToString())
			}
		}
	}
	slices.Sort(all)
	return all
}
