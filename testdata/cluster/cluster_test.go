package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const timeout = time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) != "" {
		startAndHang()
	}
	if os.Getenv(failEnv) != "" && os.Getenv(besideVariable) == "" {
		os.Exit(Run(none{}, Options{Beside: "^TestFailsBeside$"}))
	}
	Main(m, Options{ControllerManager: true, Scheduler: true, Kwok: true, Audit: true, Beside: "^TestBeside$"})
}

func TestRuntimeClassPlacesPod(t *testing.T) {
	c := Shared(t)
	client := clientFor(t, c.Config)
	apply(t, c, `
apiVersion: v1
kind: Node
metadata: {name: plain}
---
apiVersion: v1
kind: Node
metadata: {name: pooled, labels: {pool: gpu}}
spec:
  taints: [{key: pool, value: gpu, effect: NoSchedule}]
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: gpu}
handler: runc
scheduling:
  nodeSelector: {pool: gpu}
  tolerations: [{key: pool, operator: Equal, value: gpu, effect: NoSchedule}]
---
apiVersion: v1
kind: Pod
metadata: {name: trainer, namespace: default}
spec:
  runtimeClassName: gpu
  containers: [{name: main, image: registry.example/trainer}]
`)
	for _, name := range []string{"plain", "pooled"} {
		Eventually(t, "node "+name+" is Ready", timeout, func() error {
			node, err := client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
			}) {
				return fmt.Errorf("conditions are %v", node.Status.Conditions)
			}
			return nil
		})
	}
	Eventually(t, "pod trainer runs on node pooled", timeout, func() error {
		pod, err := client.CoreV1().Pods("default").Get(t.Context(), "trainer", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if pod.Spec.NodeName != "pooled" || pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP == "" {
			return fmt.Errorf("node %q, phase %s, address %q", pod.Spec.NodeName, pod.Status.Phase, pod.Status.PodIP)
		}
		return nil
	})

	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "trainer", Namespace: "default"}}
	if err := client.CoreV1().Pods("default").EvictV1(t.Context(), eviction); err != nil {
		t.Fatalf("evict the pod: %v", err)
	}
	Eventually(t, "the evicted pod is gone", timeout, func() error {
		_, err := client.CoreV1().Pods("default").Get(t.Context(), "trainer", metav1.GetOptions{})
		return wantNotFound(err)
	})
}

func TestDeploymentAndJobRun(t *testing.T) {
	c := Shared(t)
	apply(t, c, `
apiVersion: v1
kind: Node
metadata: {name: worker}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      initContainers: [{name: init, image: registry.example/init}]
      containers: [{name: main, image: registry.example/web}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: default}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: registry.example/once}]
`)
	for _, args := range [][]string{
		{"wait", "--for=condition=Available", "deployment/web", "--timeout=60s"},
		{"wait", "--for=condition=Complete", "job/once", "--timeout=60s"},
	} {
		if out, err := c.Kubectl(t.Context(), args...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}

func TestGarbageCollection(t *testing.T) {
	c := Shared(t)
	client := clientFor(t, c.Config)
	maps := client.CoreV1().ConfigMaps("default")
	owner, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reference := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}
	dependent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "dependent", OwnerReferences: []metav1.OwnerReference{reference}}}
	if _, err := maps.Create(t.Context(), dependent, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(t.Context(), owner.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "the dependent of a deleted owner is gone", timeout, func() error {
		_, err := maps.Get(t.Context(), dependent.Name, metav1.GetOptions{})
		return wantNotFound(err)
	})
}

func TestStopLeavesNothing(t *testing.T) {
	c := New(t, Options{ControllerManager: true, Scheduler: true, Kwok: true})
	var pids []int
	for _, p := range c.processes {
		pids = append(pids, p.child.Pid)
		if err := syscall.Kill(p.child.Pid, 0); err != nil {
			t.Errorf("%s does not run: %v", p.name, err)
		}
	}
	if len(pids) != 5 {
		t.Errorf("started %d processes, want 5", len(pids))
	}
	for range 2 { // the second time there is nothing to do
		if err := c.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is still there: %v", pid, err)
		}
	}
	if _, err := c.Kubectl(t.Context(), "version"); err == nil || !strings.Contains(err.Error(), "was stopped") {
		t.Errorf("kubectl after the stop: %v", err)
	}
	if _, err := os.Stat(c.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder %s is still there: %v", c.dir, err)
	}
}

func TestStartShowsTheLog(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	_, err := Start(t.Context(), Options{APIServerArgs: []string{"--no-such-flag"}})
	if err == nil {
		t.Fatal("started with a wrong flag")
	}
	for _, want := range []string{"kube-apiserver ended before it was ready", "unknown flag: --no-such-flag"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
}

// apply applies manifests and deletes their objects when the test ends.
func apply(t *testing.T, c *Cluster, manifests string) {
	t.Helper()
	if _, err := c.Apply(t.Context(), manifests); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := c.kubectl(context.Background(), strings.NewReader(manifests), []string{"delete", "--ignore-not-found", "-f", "-"})
		if err != nil {
			t.Error(err)
		}
	})
}

func clientFor(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// wantNotFound returns nil for a NotFound error.
func wantNotFound(err error) error {
	if err == nil {
		return errors.New("it is still there")
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
