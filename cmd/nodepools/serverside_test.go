package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// recorder passes requests on to an API server, and notes each with its body: that
// a deletion is a dry run is said nowhere else.
type recorder struct {
	url string
	mu  sync.Mutex
	all []recorded
	// before is called with each request, before it is passed on.
	before func(recorded)
}

type recorded struct{ method, path, query, body string }

func (r recorded) reads() bool { return r.method == http.MethodGet }

func (r recorded) dryRun() bool {
	// The body of a deletion is JSON, or protobuf with the field 5.
	inBody := strings.Contains(r.body, `"dryRun":["All"]`) || strings.Contains(r.body, "\x2a\x03All")
	return strings.Contains(r.query, "dryRun=All") || r.method == http.MethodDelete && inBody
}

func recordRequests(t *testing.T, config *rest.Config) *recorder {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{before: func(recorded) {}}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = transport
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			t.Error(err)
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
		seen := recorded{request.Method, request.URL.Path, request.URL.RawQuery, string(body)}
		r.mu.Lock()
		r.all = append(r.all, seen)
		r.mu.Unlock()
		r.before(seen)
		proxy.ServeHTTP(w, request)
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// since forgets what was recorded, and returns it.
func (r *recorder) since() []recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

// kubeconfig leads through the recorder.
func (r *recorder) kubeconfig(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n", r.url)
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// diffed runs diff, and returns what it prints and how it exits.
func diffed(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = execute(t.Context(), append([]string{"nodepools", "diff"}, args...), streams{in: strings.NewReader(""), out: &out, err: &err})
	return out.String(), err.String(), code
}

// dryRunWorld is a cluster in which a change does one of everything.
type dryRunWorld struct {
	client.Client
	t     *testing.T
	files string
}

func newDryRunWorld(t *testing.T, c *cluster.Cluster) *dryRunWorld {
	t.Helper()
	quietLibraries()
	if err := reset(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	scheme, err := controller.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	api, err := client.New(c.Config, client.Options{Scheme: scheme, Mapper: observe.Mapper()})
	if err != nil {
		t.Fatal(err)
	}
	w := &dryRunWorld{Client: api, t: t, files: t.TempDir()}
	source := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "fleet"}, Spec: v1.NodePoolSourceSpec{URL: "https://git.example.com/fleet.git", Interval: metav1.Duration{Duration: time.Minute}}}
	w.create(source)
	for _, name := range []string{"gpu", "web", "old", "same"} {
		pool := &v1.NodePool{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"tier": v1.LabelValue(name)}},
		}
		w.create(pool)
		if err := applyOwner(t.Context(), api, source, name); err != nil {
			t.Fatal(err)
		}
		w.create(&nodev1.RuntimeClass{
			ObjectMeta: metav1.ObjectMeta{
				Name: v1.RuntimeClassName(name), Labels: map[string]string{"of": "somebody-else"},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: v1.GroupVersion.String(), Kind: v1.NodePoolKind, Name: name, UID: pool.UID, Controller: ptr.To(true)}},
			},
			Handler:    "runc",
			Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"tier": name}},
		})
		w.file(name, "labels: {tier: "+name+"}")
	}
	for i := range 3 {
		w.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("gpu-%d", i), Labels: map[string]string{v1.RoleLabelPrefix + "gpu": ""}}})
	}
	w.file("gpu", "labels: {tier: gold}\n  taints: [{key: gpu, effect: NoSchedule}]")
	w.file("web", "labels: {tier: web}\n  handler: kata")
	w.file("new", "labels: {tier: new}")
	if err := os.Remove(filepath.Join(w.files, "old.yaml")); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *dryRunWorld) create(object client.Object) {
	w.t.Helper()
	if err := w.Create(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

func (w *dryRunWorld) file(pool, spec string) {
	w.t.Helper()
	content := "apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata:\n  name: " + pool + "\nspec:\n  " + spec + "\n"
	if err := os.WriteFile(filepath.Join(w.files, pool+".yaml"), []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// versions are the resourceVersions of everything, which every write changes.
func (w *dryRunWorld) versions() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for _, kind := range []client.ObjectList{&v1.NodePoolList{}, &v1.NodePoolSourceList{}, &nodev1.RuntimeClassList{}, &corev1.NodeList{}} {
		if err := w.List(w.t.Context(), kind); err != nil {
			w.t.Fatal(err)
		}
		switch list := kind.(type) {
		case *v1.NodePoolList:
			for _, each := range list.Items {
				all["pool "+each.Name] = each.ResourceVersion
			}
		case *v1.NodePoolSourceList:
			for _, each := range list.Items {
				all["source "+each.Name] = each.ResourceVersion
			}
		case *nodev1.RuntimeClassList:
			for _, each := range list.Items {
				all["class "+each.Name] = each.ResourceVersion
			}
		case *corev1.NodeList:
			for _, each := range list.Items {
				all["node "+each.Name] = each.ResourceVersion
			}
		}
	}
	return all
}

// TestServerSideIsADryRun: what is sent is what run would send, and each write of
// it a dry run. Without the flag nothing is sent but lists.
func TestServerSideIsADryRun(t *testing.T) {
	c := cluster.Shared(t)
	w := newDryRunWorld(t, c)
	r := recordRequests(t, c.Config)
	kubeconfig := r.kubeconfig(t)
	before := w.versions()

	plain, stderr, code := diffed(t, w.files, "--kubeconfig", kubeconfig)
	if code != 1 || stderr != "" {
		t.Fatalf("diff exits with %d and says %s", code, stderr)
	}
	for _, request := range r.since() {
		if !request.reads() {
			t.Errorf("without --server-side, this was sent: %v", request)
		}
	}

	asked, stderr, code := diffed(t, w.files, "--kubeconfig", kubeconfig, "--server-side")
	if code != 1 || stderr != "" || asked != plain {
		t.Errorf("--server-side exits with %d, says %s, and prints\n%s\nand without it\n%s", code, stderr, asked, plain)
	}
	var writes []string
	for _, request := range r.since() {
		if request.reads() {
			continue
		}
		if !request.dryRun() {
			t.Errorf("not a dry run: %v", request)
		}
		writes = append(writes, request.method+" "+request.path[strings.LastIndex(request.path, "/v1/")+4:])
	}
	slices.Sort(writes)
	want := []string{
		"DELETE nodepools/old",
		"DELETE runtimeclasses/node-pool-web", // replaced
		"PATCH nodepools/gpu",
		"PATCH nodepools/new",
		"PATCH nodepools/same", // gets the number of the revision
		"PATCH nodepools/web",
		"PATCH nodepools/web/status", // notes what the new RuntimeClass inherits
		"PATCH nodes/gpu-0",
		"PATCH nodes/gpu-1",
		"PATCH nodes/gpu-2",
		"PATCH runtimeclasses/node-pool-gpu",
		"PATCH runtimeclasses/node-pool-same", // selects the role label
		"POST runtimeclasses",                 // new
		"POST runtimeclasses",                 // web, before the old one is deleted
		"POST runtimeclasses",                 // web, after
	}
	if diff := cmp.Diff(want, writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, w.versions()); diff != "" {
		t.Errorf("the cluster has changed (-before +after):\n%s", diff)
	}
}

// refusal is a policy of others, of which no plan knows.
const refusal = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: gpu-full}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [nodes], resourceNames: [gpu-full]}]}
  validations: [{expression: "false", message: said by a policy of others}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: gpu-full}
spec: {policyName: gpu-full, validationActions: [Deny]}
`

// TestServerSideReportsRefusals: what the API server would not take is a problem that
// names the object and why, the rest is asked about all the same, and the exit code
// is that of an error.
func TestServerSideReportsRefusals(t *testing.T) {
	c := cluster.Shared(t)
	w := newDryRunWorld(t, c)
	r := recordRequests(t, c.Config)
	w.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "gpu-full", Labels: map[string]string{v1.RoleLabelPrefix + "gpu": ""},
	}})
	if _, err := c.Apply(t.Context(), refusal); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := c.Kubectl(context.WithoutCancel(t.Context()), "delete", "validatingadmissionpolicies,validatingadmissionpolicybindings", "gpu-full"); err != nil {
			t.Error(err)
		}
	})
	cluster.Eventually(t, "the policy is in force", time.Minute, func() error {
		if _, err := c.Kubectl(t.Context(), "annotate", "node", "gpu-full", "tried=yes", "--dry-run=server"); err == nil {
			return errors.New("the node may be written")
		}
		return nil
	})
	w.file("gpu", "annotations: {large: "+strings.Repeat("y", 1000)+"}")
	before := w.versions()
	stdout, stderr, code := diffed(t, w.files, "--kubeconfig", r.kubeconfig(t), "--server-side", "--summary")
	if code != 2 || !strings.HasPrefix(stderr, "error: the API server would refuse 1 of ") || !strings.Contains(stdout, "1 problem") {
		t.Errorf("exit code %d, %s\n%s", code, stderr, stdout)
	}
	stdout, _, _ = diffed(t, w.files, "--kubeconfig", r.kubeconfig(t), "--server-side", "-o", "json")
	if !strings.Contains(stdout, `the API server would refuse to write node \"gpu-full\": `) || !strings.Contains(stdout, "said by a policy of others") {
		t.Errorf("the problems do not name the node and why:\n%s", stdout[strings.Index(stdout, `"problems"`):])
	}
	if diff := cmp.Diff(before, w.versions()); diff != "" {
		t.Errorf("the cluster has changed (-before +after):\n%s", diff)
	}

	config, err := c.AddUser("somebody")
	if err != nil {
		t.Fatal(err)
	}
	role := "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: somebody-views}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: somebody-views}\nsubjects: [{kind: User, name: somebody}]\n" +
		"---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: somebody-views}\nrules: [{apiGroups: ['*'], resources: [nodes, nodepools, nodepoolsources, runtimeclasses], verbs: [list]}]\n"
	if out, err := c.Apply(t.Context(), role); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	viewer, err := c.WriteKubeconfig(config)
	if err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the role is in force", waitTimeout, func() error {
		if _, stderr, code := diffed(t, w.files, "--kubeconfig", viewer); code != 1 {
			return fmt.Errorf("exit code %d: %s", code, stderr)
		}
		return nil
	})
	_, stderr, code = diffed(t, w.files, "--kubeconfig", viewer, "--server-side", "--summary")
	if code != 2 || !strings.Contains(stderr, "with the rights of the user") {
		t.Errorf("without rights the exit code is %d, and it says %s", code, stderr)
	}
}

// TestServerSideFollowsANodeThatMoves: a node that is written to meanwhile is no
// refusal.
func TestServerSideFollowsANodeThatMoves(t *testing.T) {
	c := cluster.Shared(t)
	w := newDryRunWorld(t, c)
	r := recordRequests(t, c.Config)
	touched := 0
	r.before = func(request recorded) {
		if request.method != http.MethodPatch || !strings.HasSuffix(request.path, "/nodes/gpu-1") || touched == 2 {
			return
		}
		touched++
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "gpu-1"}}
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{"touched":"%d"}}}`, touched))
		if err := w.Patch(context.Background(), node, patch); err != nil {
			t.Error(err)
		}
	}
	stdout, stderr, code := diffed(t, w.files, "--kubeconfig", r.kubeconfig(t), "--server-side", "--summary")
	if code != 1 || stderr != "" || touched != 2 {
		t.Errorf("exit code %d after %d changes of the node, %s\n%s", code, touched, stderr, stdout)
	}
}
