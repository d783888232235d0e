package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/apply/status"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// statusWorld is a cluster in which pools are followed, and asked about.
type statusWorld struct {
	*testing.T
	client.Client
	cluster *cluster.Cluster
}

func (w *statusWorld) do(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// pool makes a pool and its nodes, which are ready.
func (w *statusWorld) pool(name string, nodes int) {
	w.Helper()
	for i := range nodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, i+1)}}
		w.do(w.Create(w.Context(), node))
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		w.do(w.Status().Update(w.Context(), node))
		// A taint keeps pods off nodes that are not ready, and an admission plugin adds it.
		node.Spec.Taints = nil
		w.do(w.Update(w.Context(), node))
	}
	w.do(w.Create(w.Context(), &v1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.NodePoolSpec{NodeNames: []string{name + "-*"}, Labels: map[string]v1.LabelValue{"example.com/tier": "1"}},
	}))
}

// change changes the label of a pool, by a rollout.
func (w *statusWorld) change(name string, rollout *v1.Rollout) {
	w.Helper()
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	patch := map[string]any{"spec": map[string]any{"labels": map[string]string{"example.com/tier": "2"}, "rollout": rollout}}
	text, err := json.Marshal(patch)
	w.do(err)
	w.do(w.Patch(w.Context(), pool, client.RawPatch("application/merge-patch+json", text)))
}

// shell runs a command as a user pastes it.
func (w *statusWorld) shell(line string) (out string, code int) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), waitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.cluster.Kubeconfig(),
		"PATH="+filepath.Dir(w.cluster.Program("kubectl"))+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		w.Fatalf("%s: %v\n%s%s", line, err, stdout.String(), stderr.String())
	}
	if stderr.Len() > 0 {
		w.Logf("%s: %s", line, stderr.String())
	}
	return stdout.String(), cmd.ProcessState.ExitCode()
}

// reports waits until the pools are in phases, in this order, each "pool phase", and
// returns the report.
func (w *statusWorld) reports(want ...string) map[string]status.Pool {
	w.Helper()
	byName := map[string]status.Pool{}
	cluster.Eventually(w, "the pools are reported", waitTimeout, func() error {
		out, code := w.shell("nodepools status -o json")
		var report status.Report
		if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitOK {
			return fmt.Errorf("exit code %d: %w: %s", code, err, out)
		}
		var got []string
		for _, pool := range report.Pools {
			got = append(got, pool.Name+" "+string(pool.Phase))
			byName[pool.Name] = pool
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("-want +got:\n%s\n%s", diff, out)
		}
		return nil
	})
	return byName
}

// A source that is blocked comes before the pools, which are all complete, and is what the
// exit code says; kubectl shows its reason and its short revision.
func TestStatusOfASource(t *testing.T) {
	c := cluster.Shared(t)
	s := newStory(t, c)
	s.do(reset(t.Context(), c))
	s.commit(map[string]string{"a.yaml": poolFile("a", "runc"), "b.yaml": poolFile("b", "runc"), "c.yaml": poolFile("c", "runc")})
	s.do(s.Create(t.Context(), &v1.NodePoolSource{
		ObjectMeta: metav1.ObjectMeta{Name: "platform"},
		Spec:       v1.NodePoolSourceSpec{URL: "file://" + s.repository, Interval: metav1.Duration{Duration: time.Second}},
	}))
	startRun(t, c.Kubeconfig())
	w := &statusWorld{t, s.Client, c}
	if out, code := w.shell("nodepools status --watch"); code != exitOK || !strings.Contains(out, "source platform: Complete, at ") {
		t.Fatalf("exit code %d: %s", code, out)
	}
	s.git("rm", "--quiet", "b.yaml", "c.yaml")
	s.git("commit", "--quiet", "--message", "remove two of three pools")
	var out string
	var code int
	cluster.Eventually(t, "the source is blocked", waitTimeout, func() error {
		if out, code = w.shell("nodepools status"); code != exitFailed {
			return fmt.Errorf("exit code %d: %s", code, out)
		}
		return nil
	})
	for _, want := range []string{"SOURCE", "platform  Stalled", "PruneBlocked", "To delete the pools that are kept:\n  nodepools approve source/platform\n", "POOL"} {
		if !strings.Contains(out, want) {
			t.Errorf("the status lacks %q:\n%s", want, out)
		}
	}
	src := &v1.NodePoolSource{}
	s.do(s.Get(t.Context(), client.ObjectKey{Name: "platform"}, src))
	shown, _ := w.shell("kubectl get nodepoolsources.nodes.lailin.xyz platform --no-headers")
	if fields := strings.Fields(shown); len(fields) != 7 || fields[2] != "False" || fields[3] != v1.PruneBlockedReason || fields[5] != v1.ShortRevision(src.Status.Revision) {
		t.Errorf("kubectl shows %v of %q", fields, src.Status.Revision)
	}
	var report status.Report
	out, code = w.shell("nodepools status -o json")
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitFailed || len(report.Sources) != 1 || report.Sources[0].Phase != status.Stalled {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
}

// What is shown of pools that follow in waves, with a soak and with an approval, that are
// paused, and that are done, on a real control plane; the commands that are shown have
// nodes go on.
func TestStatusInACluster(t *testing.T) {
	c := cluster.Shared(t)
	if err := reset(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	scheme, err := controller.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	api, err := client.New(c.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := &statusWorld{t, api, c}
	names := []string{"done", "gate", "ice", "soak"}
	for _, name := range names {
		w.pool(name, 3)
	}
	startRun(t, c.Kubeconfig())
	out, code := w.shell("nodepools status --watch")
	if lines := strings.Split(out, "\n"); code != exitOK || !slices.Contains(lines, "soak: Complete, 3 of 3 up to date") {
		t.Fatalf("exit code %d: %s", code, out)
	}
	// Nodes that have joined in this second would follow at once.
	created := time.Now().Truncate(time.Second)
	cluster.Eventually(t, "the nodes are in use", waitTimeout, func() error {
		if !time.Now().Truncate(time.Second).After(created) {
			return fmt.Errorf("it is still %v", created)
		}
		return nil
	})
	canary := func(change func(*v1.Wave)) *v1.Rollout {
		wave := v1.Wave{Name: "canary", Nodes: ptr.To(intstr.FromInt32(1))}
		change(&wave)
		return &v1.Rollout{Waves: []v1.Wave{wave}}
	}
	w.change("gate", canary(func(wave *v1.Wave) { wave.Approval = v1.ApprovalRequired }))
	w.change("ice", &v1.Rollout{Paused: true})
	w.change("soak", canary(func(wave *v1.Wave) { wave.Soak = &metav1.Duration{Duration: time.Hour} }))
	pools := w.reports("gate Approval", "ice Paused", "soak Waiting", "done Complete")

	want := []status.Wave{
		{Name: "canary", State: status.WaveCurrent, Nodes: 1, Followed: 1},
		{Name: v1.RestWave, State: status.WaveWaiting, Nodes: 2, Waiting: 2},
	}
	for _, name := range []string{"gate", "soak"} {
		got := slices.Clone(pools[name].Waves)
		if len(got) > 0 && (got[0].SoaksUntil != nil) == (got[0].Approval != "") {
			t.Errorf("%s soaks until %v, and is approved by %q", name, got[0].SoaksUntil, got[0].Approval)
		}
		for i := range got {
			got[i].SoaksUntil, got[i].Approval = nil, ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the waves of %s (-want +got):\n%s", name, diff)
		}
	}
	if until := pools["soak"].Waves[0].SoaksUntil; until == nil || time.Until(until.Time) > time.Hour || time.Until(until.Time) < 50*time.Minute {
		t.Errorf("the soak ends at %v", until)
	}
	for name, texts := range map[string][]string{
		"soak": {"Reason:       Soaking\n", "Waits for:    the soak of wave canary, until ", ">  canary  ██", "1/1        0", "   rest    ░░"},
		"gate": {"Phase:        Approval; reconciling since ", "To approve the next wave:\n  nodepools approve gate\n"},
		"ice":  {"Phase:        Paused", "Waits for:    spec.rollout.paused\n", "0/3        3"},
		"done": {"Phase:        Complete; ready since ", "3/3        0"},
	} {
		text, _ := w.shell("nodepools status " + name)
		for _, want := range texts {
			if !strings.Contains(text, want) {
				t.Errorf("the status of %s lacks %q:\n%s", name, want, text)
			}
		}
	}

	for _, name := range []string{"gate", "ice"} {
		if len(pools[name].Steps) != 1 {
			t.Fatalf("the steps of %s are %+v", name, pools[name].Steps)
		}
		if out, code := w.shell(pools[name].Steps[0].Command + " --yes"); code != 0 {
			t.Fatalf("%s: exit code %d, %s", pools[name].Steps[0].Command, code, out)
		}
		if out, code := w.shell("nodepools status --watch " + name); code != exitOK || !strings.HasSuffix(out, name+": Complete, 3 of 3 up to date\n") {
			t.Errorf("exit code %d: %s", code, out)
		}
	}
	w.reports("soak Waiting", "done Complete", "gate Complete", "ice Complete")
}
