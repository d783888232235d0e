package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/nodepools/nodepools/api/crds"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// tests runs the tests with one control plane that they share.
type tests struct{ *testing.M }

func (t tests) Run() int {
	return cluster.Run(t.M, cluster.Options{CRDs: neighbours(), Beside: "^Test(DiffEquals|Crash|Fault|AvailabilityOf|Inventory|ANodeThat|RestorePage|Rollout|Uninstall)"})
}

// TestClusterScripts are the commands with a real API server. They share it, so
// they run one after the other, and each finds it empty, and our kinds installed.
func TestClusterScripts(t *testing.T) {
	c, program := cluster.Shared(t), shippedProgram(t)
	testscript.RunT(inTurn{t}, testscript.Params{
		Dir:                 "testdata/script/cluster",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			health, err := freeAddress()
			if err != nil {
				return err
			}
			env.Setenv("PATH", strings.Join([]string{program, filepath.Dir(c.Program("kubectl")), env.Getenv("PATH")}, string(filepath.ListSeparator)))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("KUBECONFIG", c.Kubeconfig())
			env.Setenv("CLUSTER", c.Kubeconfig())
			env.Setenv("SERVER", c.Config.Host)
			env.Setenv("HEALTH", health)
			return reset(context.Background(), c)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await":          await,
			"eventually":     eventually,
			"kubeconfig":     func(ts *testscript.TestScript, _ bool, args []string) { userKubeconfig(ts, c, args) },
			"applied":        func(ts *testscript.TestScript, _ bool, args []string) { appliedBy(ts, c, args) },
			"serviceaccount": func(ts *testscript.TestScript, _ bool, args []string) { accountKubeconfig(ts, c, args) },
		},
	})
}

// inTurn runs scripts one after the other.
type inTurn struct{ *testing.T }

func (inTurn) Parallel()     {}
func (inTurn) Verbose() bool { return testing.Verbose() }

func (t inTurn) Run(name string, run func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { run(inTurn{t}) })
}

// reset empties the cluster and installs our kinds.
func reset(ctx context.Context, c *cluster.Cluster) error {
	api, err := observe.NewClient(c.Config)
	if err != nil {
		return err
	}
	// Their finalizers would keep pools and sources: no controller runs here any
	// more.
	var pools v1.NodePoolList
	if err := api.List(ctx, &pools); client.IgnoreNotFound(err) != nil {
		return err
	}
	for _, pool := range pools.Items {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := api.Patch(ctx, &pool, patch); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	var sources v1.NodePoolSourceList
	if err := api.List(ctx, &sources); client.IgnoreNotFound(err) != nil {
		return err
	}
	for _, source := range sources.Items {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := api.Patch(ctx, &source, patch); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	for _, kind := range []client.Object{&v1.NodePool{}, &v1.NodePoolSource{}, &nodev1.RuntimeClass{}, &corev1.Node{}} {
		if err := api.DeleteAllOf(ctx, kind); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	for _, kind := range observe.PodKinds() {
		if err := api.List(ctx, kind.List); err != nil {
			return err
		}
		err := meta.EachListItem(kind.List, func(object runtime.Object) error {
			return client.IgnoreNotFound(api.Delete(ctx, object.(client.Object), client.GracePeriodSeconds(0)))
		})
		if err != nil {
			return err
		}
	}
	definitions, err := crds.All()
	if err != nil {
		return err
	}
	_, err = envtest.InstallCRDs(c.Config, envtest.CRDInstallOptions{CRDs: definitions})
	return err
}

// applied SOURCE POOL... makes pools those that a source has applied, and sets the
// variable SOURCE_UID, with the name of the source for SOURCE, to its UID.
func appliedBy(ts *testscript.TestScript, c *cluster.Cluster, args []string) {
	scheme, err := controller.NewScheme()
	ts.Check(err)
	api, err := client.New(c.Config, client.Options{Scheme: scheme, Mapper: observe.Mapper()})
	ts.Check(err)
	source := &v1.NodePoolSource{}
	ts.Check(api.Get(context.Background(), client.ObjectKey{Name: args[0]}, source))
	ts.Setenv(strings.ToUpper(strings.ReplaceAll(source.Name, "-", "_"))+"_UID", string(source.UID))
	for _, pool := range args[1:] {
		ts.Check(applyOwner(context.Background(), api, source, pool))
	}
}

// applyOwner makes a pool one that the source has applied.
func applyOwner(ctx context.Context, api client.Client, source *v1.NodePoolSource, pool string) error {
	owned := &unstructured.Unstructured{}
	owned.SetGroupVersionKind(v1.GroupVersion.WithKind(v1.NodePoolKind))
	owned.SetName(pool)
	owned.SetLabels(map[string]string{v1.SourceLabel: source.Name})
	owned.SetAnnotations(map[string]string{v1.SourceUIDAnnotation: string(source.UID)})
	return api.Apply(ctx, client.ApplyConfigurationFromUnstructured(owned), client.FieldOwner(v1.FieldManager), client.ForceOwnership)
}

// eventually runs a command until it succeeds, and its output contains what is given:
// eventually TEXT COMMAND [ARGUMENT...]. It ends with the test, as a loop in a shell does not.
func eventually(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: eventually TEXT COMMAND [ARGUMENT...]")
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		output := ts.ReadFile("stdout")
		if err == nil && strings.Contains(output, args[0]) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%q is not in the output of %q: %v\n%s%s", args[0], args[1:], err, output, ts.ReadFile("stderr"))
		}
	}
}

// await URL waits until a GET of the URL answers 200.
func await(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: await URL")
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		response, err := http.Get(args[0])
		if err == nil {
			ts.Check(response.Body.Close())
			if response.StatusCode == http.StatusOK {
				return
			}
			err = fmt.Errorf("it answers %s", response.Status)
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s is not ready: %v", args[0], err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// userKubeconfig FILE USER writes a kubeconfig file of a user without rights.
func userKubeconfig(ts *testscript.TestScript, c *cluster.Cluster, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: kubeconfig FILE USER")
	}
	config, err := c.AddUser(args[1])
	ts.Check(err)
	path, err := c.WriteKubeconfig(config)
	ts.Check(err)
	copyFile(ts, path, args[0])
}

// accountKubeconfig FILE NAMESPACE NAME writes a kubeconfig file of a service
// account.
func accountKubeconfig(ts *testscript.TestScript, c *cluster.Cluster, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: serviceaccount FILE NAMESPACE NAME")
	}
	_, path, err := c.ServiceAccount(context.Background(), args[1], args[2])
	ts.Check(err)
	copyFile(ts, path, args[0])
}

func copyFile(ts *testscript.TestScript, path, name string) {
	data, err := os.ReadFile(path)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(name), data, 0o600))
}

// freeAddress is one that nobody listens at.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
