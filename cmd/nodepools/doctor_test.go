package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/apply/doctor"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// examined is what doctor reports, by severity and object, and its exit code.
func examined(t *testing.T, kubeconfig string, args ...string) (report doctor.Report, found []string, code int) {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), "nodepools", append([]string{"doctor", "--kubeconfig", kubeconfig, "-o", "json"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // its exit code says how it went
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
	}
	for _, f := range report.Findings {
		if f.Severity != doctor.OK {
			found = append(found, fmt.Sprintf("%s %s %s", f.Severity, f.Check, f.Object))
		}
	}
	slices.Sort(found)
	return report, found, cmd.ProcessState.ExitCode()
}

// expectExamined waits until doctor reports just that.
func expectExamined(t *testing.T, kubeconfig string, wantCode int, want ...string) {
	t.Helper()
	slices.Sort(want)
	cluster.Eventually(t, "doctor reports what is the case", waitTimeout, func() error {
		report, found, code := examined(t, kubeconfig)
		if diff := cmp.Diff(want, found); diff != "" || code != wantCode || report.Healthy != (wantCode == exitOK) {
			return fmt.Errorf("exit code %d, want %d; (-want +got):\n%s\n%+v", code, wantCode, diff, report.Findings)
		}
		return nil
	})
}

// Doctor on a real API server: with nothing installed, with all that is well, with many
// things wrong at once, and by a user who may read little of it.
func TestDoctorInACluster(t *testing.T) {
	c := cluster.New(t, cluster.Options{})
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	kubectl := func(args ...string) {
		t.Helper()
		_, err := c.Kubectl(t.Context(), args...)
		do(err)
	}
	expectExamined(t, c.Kubeconfig(), exitFailed,
		"problem definitions crd/nodepools.nodes.lailin.xyz", "problem definitions crd/nodepoolsources.nodes.lailin.xyz",
		"problem policies validatingadmissionpolicy/nodepools", "problem policies validatingadmissionpolicybinding/nodepools",
		"problem policies validatingadmissionpolicy/nodepools-status", "problem policies validatingadmissionpolicybinding/nodepools-status",
		"note rights ", "note controller ", "problem lease ", "note metrics ", "unknown sources ", "unknown pools ")

	install(t, c)
	install(t, c, "--viewer")
	// Nothing runs pods here: what the Deployment would report is written by hand, and the
	// controller runs beside the cluster, by the account of the Deployment.
	kubectl("patch", "deployment", manifests.Name, "--namespace", manifests.DefaultNamespace, "--subresource", "status", "--type", "merge", "--patch", `{"status":{"observedGeneration":1,"replicas":2,"updatedReplicas":2,"readyReplicas":2}}`)
	scheme, err := controller.NewScheme()
	do(err)
	api, err := client.New(c.Config, client.Options{Scheme: scheme})
	do(err)
	node := func(name string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"node-role.kubernetes.io/edge": ""}}}
	}
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "edge"}, Spec: v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"team": "ml"}}}
	cluster.Eventually(t, "pools are served", waitTimeout, func() error { return api.Create(t.Context(), pool) })
	do(api.Create(t.Context(), node("n1")))
	_, kubeconfig, err := c.ServiceAccount(t.Context(), manifests.DefaultNamespace, manifests.Name)
	do(err)
	startRun(t, kubeconfig, "--leader-elect", "--leader-election-namespace", manifests.DefaultNamespace)
	expectExamined(t, c.Kubeconfig(), exitOK, "note sources ")

	expectHandlers(t, c, kubectl)
	expectDrains(t, c, kubectl)
	expectMetrics(t, c, kubectl)
	expectLeases(t, c, kubectl)

	breakMuch(t, c, api, node, kubectl)
	expectExamined(t, c.Kubeconfig(), exitFailed,
		"problem definitions crd/nodepoolsources.nodes.lailin.xyz",
		"problem policies validatingadmissionpolicybinding/nodepools",
		"problem rights serviceaccount/nodepools",
		"problem controller deployment/nodepools",
		"problem sources nodepoolsources.nodes.lailin.xyz/platform",
		"problem pools nodepools.nodes.lailin.xyz/edge",
		"problem nodes node/unreadable", "problem nodes node/left", "note nodes node/left", "note nodes node/paused")

	_, viewer, err := c.ServiceAccount(t.Context(), manifests.DefaultNamespace, manifests.ViewerName)
	do(err)
	_, found, code := examined(t, viewer)
	for _, want := range []string{"unknown definitions ", "unknown policies ", "unknown rights ", "unknown controller ", "unknown lease ", "problem nodes node/left"} {
		if !slices.Contains(found, want) {
			t.Errorf("the viewer's report lacks %q: %q", want, found)
		}
	}
	if code != exitFailed {
		t.Errorf("the viewer's exit code is %d", code)
	}
}

// expectHandlers has a kubelet report handlers, without that of the pool and with it.
func expectHandlers(t *testing.T, c *cluster.Cluster, kubectl func(...string)) {
	t.Helper()
	if early, err := c.Before(1, 31); err != nil || early {
		return // the API server drops what kubelets report
	}
	report := func(handlers string) {
		kubectl("patch", "node", "n1", "--subresource", "status", "--type", "merge", "--patch", `{"status":{"runtimeHandlers":[`+handlers+`]}}`)
	}
	report(`{"name":""},{"name":"crun"}`)
	expectExamined(t, c.Kubeconfig(), exitFailed, "note sources ", "problem pools nodepools.nodes.lailin.xyz/edge")
	report(`{"name":""},{"name":"crun"},{"name":"runc"}`)
	expectExamined(t, c.Kubeconfig(), exitOK, "note sources ")
}

// expectDrains has a pool that is to have nodes drained, without the rights and with them.
func expectDrains(t *testing.T, c *cluster.Cluster, kubectl func(...string)) {
	t.Helper()
	kubectl("patch", "nodepools.nodes.lailin.xyz", "edge", "--type", "merge", "--patch", `{"spec":{"rollout":{"drain":{}}}}`)
	expectExamined(t, c.Kubeconfig(), exitFailed, "note sources ", "problem rights serviceaccount/nodepools")
	install(t, c, "--rollout")
	expectExamined(t, c.Kubeconfig(), exitOK, "note sources ")
	kubectl("patch", "nodepools.nodes.lailin.xyz", "edge", "--type", "merge", "--patch", `{"spec":{"rollout":null}}`)
}

// expectMetrics has the Service of the metrics lead elsewhere, and taken away.
func expectMetrics(t *testing.T, c *cluster.Cluster, kubectl func(...string)) {
	t.Helper()
	patch := []string{"patch", "service", manifests.MetricsName, "--namespace", manifests.DefaultNamespace, "--type", "json", "--patch"}
	kubectl(append(patch, `[{"op":"replace","path":"/spec/ports/0/targetPort","value":"other"}]`)...)
	expectExamined(t, c.Kubeconfig(), exitFailed, "note sources ", "problem metrics service/"+manifests.MetricsName)
	kubectl("delete", "service", manifests.MetricsName, "--namespace", manifests.DefaultNamespace)
	expectExamined(t, c.Kubeconfig(), exitOK, "note sources ", "note metrics ")
	install(t, c)
	expectExamined(t, c.Kubeconfig(), exitOK, "note sources ")
}

// expectLeases has a holder whose clock is an hour ahead, in another namespace: while it
// renews its lease it works, and afterwards it does not. A second holder is a problem.
func expectLeases(t *testing.T, c *cluster.Cluster, kubectl func(...string)) {
	t.Helper()
	leases, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	const namespace = "ahead"
	kubectl("create", "namespace", namespace)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: v1.LeaseName}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("pod"), LeaseDurationSeconds: ptr.To[int32](15),
	}}
	ahead := func() *metav1.MicroTime { return &metav1.MicroTime{Time: time.Now().Add(time.Hour)} }
	lease.Spec.RenewTime = ahead()
	if lease, err = leases.CoordinationV1().Leases(namespace).Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	of := func() (found []string) {
		report, _, _ := examined(t, c.Kubeconfig(), "--namespace", namespace)
		for _, f := range report.Findings {
			if f.Check == doctor.Lease {
				found = append(found, string(f.Severity)+": "+f.Message)
			}
		}
		return found
	}
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			case <-time.After(time.Second):
			}
			lease.Spec.RenewTime = ahead()
			if lease, err = leases.CoordinationV1().Leases(namespace).Update(context.Background(), lease, metav1.UpdateOptions{}); err != nil {
				stopped <- err
				return
			}
		}
	}()
	working := of()
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if len(working) != 1 || !strings.Contains(working[0], "two controllers write the same nodes") {
		t.Errorf("while the lease is renewed: %q", working)
	}
	if after := of(); len(after) != 1 || !strings.Contains(after[0], "ahead of the API server's") {
		t.Errorf("while it is not: %q", after)
	}
	kubectl("delete", "namespace", namespace, "--wait=false")
}

// breakMuch breaks one thing of each sort.
func breakMuch(t *testing.T, c *cluster.Cluster, api client.Client, node func(string) *corev1.Node, kubectl func(...string)) {
	t.Helper()
	// A label that its pool does not get.
	taken := node("taken")
	taken.Labels["team"] = "web"
	unreadable, left, paused := node("unreadable"), node("left"), node("paused")
	unreadable.Annotations = map[string]string{v1.AppliedAnnotation: "{"}
	left.Labels = nil
	// Paused, as one node alone is released by a controller that runs.
	left.Annotations = map[string]string{v1.AppliedAnnotation: `{"version":1,"pools":{"gone":{"labels":{"a":"b"}}}}`, v1.ReconcileAnnotation: v1.Disabled}
	paused.Annotations = map[string]string{v1.ReconcileAnnotation: v1.Disabled}
	for _, object := range []client.Object{taken, unreadable, left, paused,
		&v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "platform"}, Spec: v1.NodePoolSourceSpec{
			URL: "https://127.0.0.1/none", Interval: metav1.Duration{Duration: v1.DefaultInterval},
		}},
	} {
		if err := api.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	// A right that is needed no more than once in a while.
	rights, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	role, err := rights.RbacV1().ClusterRoles().Get(t.Context(), manifests.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.APIGroups, "admissionregistration.k8s.io")
	})
	if _, err := rights.RbacV1().ClusterRoles().Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	kubectl("delete", "validatingadmissionpolicybinding", manifests.Name)
	kubectl("patch", "crd", "nodepoolsources.nodes.lailin.xyz", "--type", "json", "--patch",
		`[{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema/description","value":"of another version"}]`)
	kubectl("patch", "deployment", manifests.Name, "--namespace", manifests.DefaultNamespace, "--subresource", "status", "--type", "merge", "--patch", `{"status":{"readyReplicas":0}}`)
}

// A namespace stands in the commands that are printed, so it is one.
func TestDoctorRefusesANamespaceThatIsNone(t *testing.T) {
	for _, namespace := range []string{"", "a;b", "$(reboot)", "../kube-system"} {
		var out, errs bytes.Buffer
		code := execute(t.Context(), []string{"nodepools", "doctor", "--namespace", namespace, "--kubeconfig", kubeconfigOf(t, "https://127.0.0.1:1")},
			streams{in: strings.NewReader(""), out: &out, err: &errs})
		if code != exitUsage || !strings.Contains(errs.String(), "--namespace") {
			t.Errorf("%q: exit code %d, %s", namespace, code, errs.String())
		}
	}
}

// A cluster that does not answer is an error, and no finding.
func TestDoctorWithoutACluster(t *testing.T) {
	var out, errs bytes.Buffer
	code := execute(t.Context(), []string{"nodepools", "doctor", "--kubeconfig", kubeconfigOf(t, "https://127.0.0.1:1")},
		streams{in: strings.NewReader(""), out: &out, err: &errs})
	if code != exitUsage || out.Len() > 0 || !strings.Contains(errs.String(), "cannot reach https://127.0.0.1:1") {
		t.Errorf("exit code %d, %s%s", code, out.String(), errs.String())
	}
}
