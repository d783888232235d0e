package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/docs"
)

// TestRestorePage loses what docs/restore.md is about, one thing after the other, on a real
// control plane, runs each command of the page as it is written, and compares what doctor
// prints with what the page shows. The controller has the rights that install gives it.
func TestRestorePage(t *testing.T) {
	c := cluster.New(t, cluster.Options{CRDs: neighbours()})
	r := &restoration{story: newStory(t, c), dir: t.TempDir(), page: docs.Read(t, "docs/restore.md").Text}
	r.shell("nodepools install | kubectl apply --server-side -f -")
	r.firstRevision()
	r.start()
	r.applied("gpu", "first")
	r.section("What to back up")
	backup, err := c.Backup(t.Context())
	r.do(err)
	r.secondRevision()

	r.loseNodes()
	r.loseSource()
	r.loseDefinitions()
	r.loseNamespace()
	r.restoreEtcd(backup)

	if all := len(slices.Concat(documentedCommands(docs.Page{Text: r.page})...)); r.ran != all || all < 10 {
		t.Errorf("%d of the %d commands of the page were run", r.ran, all)
	}
}

// restoration is the cluster of an administrator who has lost something.
type restoration struct {
	*story
	dir  string // with the files of the backup
	page string
	stop func() // the controller; nil where none runs
	ran  int
}

// limitedNodes are enough for deletions to wait for an approval.
const limitedNodes = 12

func (r *restoration) firstRevision() {
	r.t.Helper()
	for i := range limitedNodes {
		r.node(fmt.Sprintf("gpu-%d", i+1), "gpu")
	}
	r.node("edge-1", "edge")
	r.node("a-1", "a")
	r.gpu("first\n    dropped: \"yes\"")
	r.commit(map[string]string{"edge.yaml": poolFile("edge", "runc"), "a.yaml": poolFile("a", "runc"), "b.yaml": poolFile("b", "runc")})
	r.do(r.Create(r.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "platform", Namespace: manifests.DefaultNamespace}, StringData: map[string]string{"password": "token"},
	}))
	r.do(r.Create(r.t.Context(), &v1.NodePoolSource{
		ObjectMeta: metav1.ObjectMeta{Name: "platform"},
		Spec:       v1.NodePoolSourceSpec{URL: "file://" + r.repository, Interval: metav1.Duration{Duration: v1.DefaultInterval / 60}},
	}))
}

// gpu writes the pool with a value of the label pool.
func (r *restoration) gpu(value string) {
	r.t.Helper()
	text := strings.Replace(poolFile("gpu", "runc"), "    pool: gpu\n", "    pool: "+value+"\n", 1)
	r.do(os.WriteFile(filepath.Join(r.repository, "gpu.yaml"), []byte(text), 0o600))
}

// secondRevision is what is in Git from the backup on: gpu has another label and lacks one,
// and b is pruned.
func (r *restoration) secondRevision() {
	r.t.Helper()
	r.gpu("second")
	r.git("rm", "--quiet", "b.yaml")
	r.commit(nil)
	r.secondApplied()
}

// secondApplied waits until everything is as the second revision has it.
func (r *restoration) secondApplied() {
	r.t.Helper()
	r.applied("gpu", "second")
	r.until("pools and source are what Git says", func() error {
		var pools v1.NodePoolList
		if err := r.List(r.t.Context(), &pools); err != nil {
			return err
		}
		if len(pools.Items) != 3 {
			return fmt.Errorf("there are %d pools", len(pools.Items))
		}
		for _, pool := range pools.Items {
			if !meta.IsStatusConditionTrue(pool.Status.Conditions, v1.ReadyCondition) {
				return fmt.Errorf("%s: %+v", pool.Name, pool.Status)
			}
		}
		return r.sourceIs(v1.SucceededReason)
	})
}

func (r *restoration) sourceIs(reason string) error {
	var source v1.NodePoolSource
	if err := r.Get(r.t.Context(), client.ObjectKey{Name: "platform"}, &source); err != nil {
		return err
	}
	if reasonOf(source.Status.Conditions) != reason {
		return fmt.Errorf("the source is %+v", source.Status)
	}
	return nil
}

// applied waits until the nodes of gpu have a value, and nothing of a record that is older.
func (r *restoration) applied(pool, value string) {
	r.t.Helper()
	r.until("nodes are what "+pool+" says", func() error {
		var nodes corev1.NodeList
		if err := r.List(r.t.Context(), &nodes, client.HasLabels{v1.RoleLabel(pool)}); err != nil {
			return err
		}
		if len(nodes.Items) != limitedNodes {
			return fmt.Errorf("there are %d nodes", len(nodes.Items))
		}
		for _, node := range nodes.Items {
			_, dropped := node.Labels["dropped"]
			tainted := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == "pool" })
			if node.Labels["pool"] != value || dropped != (value == "first") || !tainted {
				return fmt.Errorf("%s has %v and %v", node.Name, node.Labels, node.Spec.Taints)
			}
		}
		return nil
	})
}

// start runs the controller, as the pods of the Deployment would.
func (r *restoration) start() {
	r.t.Helper()
	_, kubeconfig, err := r.c.ServiceAccount(r.t.Context(), manifests.DefaultNamespace, manifests.Name)
	r.do(err)
	r.stop = startRun(r.t, kubeconfig, "--leader-elect", "--leader-election-namespace", manifests.DefaultNamespace)
	r.ready()
}

// ready writes what the Deployment would report: nothing runs pods here.
func (r *restoration) ready() {
	r.t.Helper()
	r.shell(`kubectl patch deployment nodepools --namespace nodepools-system --subresource status --type merge --patch '{"status":{"observedGeneration":1000,"replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2}}'`)
}

// loseNodes deletes two nodes: one registers again, and one comes from the backup.
func (r *restoration) loseNodes() {
	for _, name := range []string{"gpu-1", "gpu-2"} {
		r.do(r.Delete(r.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	r.until("the controller knows that they are gone", func() error {
		var pool v1.NodePool
		if err := r.Get(r.t.Context(), client.ObjectKey{Name: "gpu"}, &pool); err != nil {
			return err
		}
		if nodes := pool.Status.Nodes; nodes == nil || nodes.Desired != limitedNodes-2 {
			return fmt.Errorf("its status is %+v", pool.Status)
		}
		return nil
	})
	r.doctor("nodes")
	r.node("gpu-2", "gpu")
	r.section("A node")
	r.secondApplied()
	r.doctor("well")
}

func (r *restoration) loseSource() {
	r.unwritten(func() {
		r.do(r.Delete(r.t.Context(), &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "platform"}}))
		r.doctor("source")
		r.section("A source", 0)
		r.until("the source does not own the pools", func() error { return r.sourceIs(v1.ClaimedReason) })
		r.doctor("claimed")
		r.section("A source", 1)
		r.secondApplied()
		r.doctor("well")
	})
}

func (r *restoration) loseDefinitions() {
	r.unwritten(func() {
		r.shell("kubectl delete crd --wait=false nodepools.nodes.lailin.xyz nodepoolsources.nodes.lailin.xyz")
		r.doctor("definitions")
		r.section("The definitions")
		r.collectGarbage()
		r.secondApplied()
		r.doctor("well")
	})
}

// collectGarbage deletes the RuntimeClasses of pools that are gone, as kube-controller-manager
// would, which does not run: it would put taints on nodes that no kubelet renews.
func (r *restoration) collectGarbage() {
	r.t.Helper()
	var pools v1.NodePoolList
	var classes nodev1.RuntimeClassList
	r.do(r.List(r.t.Context(), &pools))
	r.do(r.List(r.t.Context(), &classes))
	alive := map[types.UID]bool{}
	for _, pool := range pools.Items {
		alive[pool.UID] = true
	}
	for _, class := range classes.Items {
		if owners := class.OwnerReferences; len(owners) == 1 && !alive[owners[0].UID] {
			r.do(client.IgnoreNotFound(r.Delete(r.t.Context(), &class)))
		}
	}
}

func (r *restoration) loseNamespace() {
	r.unwritten(func() {
		api, err := kubernetes.NewForConfig(r.c.Config)
		r.do(err)
		r.stop() // its pods are deleted with it
		// No controller manager runs, which would empty a namespace that is deleted.
		inside := client.InNamespace(manifests.DefaultNamespace)
		for _, kind := range []string{"secrets", "deployments", "services", "serviceaccounts", "leases", "roles", "rolebindings"} {
			r.shell("kubectl delete " + kind + " --all --namespace " + manifests.DefaultNamespace)
		}
		namespaces := api.CoreV1().Namespaces()
		r.do(namespaces.Delete(r.t.Context(), string(inside), metav1.DeleteOptions{}))
		deleted, err := namespaces.Get(r.t.Context(), string(inside), metav1.GetOptions{})
		r.do(err)
		deleted.Spec.Finalizers = nil
		_, err = namespaces.Finalize(r.t.Context(), deleted, metav1.UpdateOptions{})
		r.do(err)
		r.until("the namespace is gone", func() error {
			if _, err := namespaces.Get(r.t.Context(), string(inside), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("it is there: %w", err)
			}
			return nil
		})
		r.doctor("namespace")
		r.section("The namespace")
		var secret corev1.Secret
		r.do(r.Get(r.t.Context(), client.ObjectKey{Namespace: string(inside), Name: "platform"}, &secret))
		if string(secret.Data["password"]) != "token" {
			r.t.Error("the Secret does not have what it had")
		}
		r.start()
		r.doctor("well")
		r.secondApplied()
	})
}

// restoreEtcd restores etcd while no controller runs, to a time at which the first revision
// was applied and one more pool was there.
func (r *restoration) restoreEtcd(backup *cluster.Backup) {
	r.stop()
	r.do(r.c.Restore(r.t.Context(), backup))
	r.applied("gpu", "first")
	// A backup is older than the one of this test.
	r.shell(`kubectl patch lease nodepools --namespace nodepools-system --type merge --patch '{"spec":{"renewTime":"2026-01-01T00:00:00.000000Z"}}'`)
	r.unwritten(func() {
		r.section("A restored etcd", 0)
		r.doctor("stopped")
	})
	r.section("A restored etcd", 1)
	r.secondApplied()
	r.doctor("well")
}
