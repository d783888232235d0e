package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/program"
)

// stage is all that the story needs, and that is stopped after it. Its methods do
// nothing once the story has failed, so that a chapter is a plain list of actions.
type stage struct {
	ctx context.Context
	end context.CancelCauseFunc // called when the controller ends unasked
	err error                   // the first one; see fail

	out      io.Writer
	coloured bool
	keys     <-chan struct{} // nil where the story goes on by itself
	page     string          // file to keep the review in, as a page
	program  string          // path of nodepools

	dir, work  string   // temporary, for all files; the working copy of the user
	env        []string // of the user: none of the settings of this machine
	cluster    *cluster.Cluster
	client     client.WithWatch // of the administrator
	git        *gitServer
	controller *program.Process // nil until the story starts it

	// foretold are the pods that diff has named.
	foretold []string
	// bare are the nodes as they were before there was any pool, by name.
	bare map[string]corev1.Node
}

// set starts the cluster and the Git server, and makes nodes and repository.
func (s *stage) set() {
	s.fail(s.start())
	s.makeRepository()
	s.makeNodes()
}

func (s *stage) start() (err error) {
	if s.program, err = filepath.Abs(s.program); err != nil {
		return err
	}
	for _, needed := range []string{s.program, "examples/quickstart"} {
		if _, err := os.Stat(needed); err != nil {
			return fmt.Errorf("%w\nrun this from the root of the repository: make demo", err)
		}
	}
	if s.dir, err = os.MkdirTemp("", "nodepools-demo-"); err != nil {
		return err
	}
	s.say("Starting etcd, kube-apiserver, kube-controller-manager and kube-scheduler on this machine, and kwok, which plays the kubelets of twenty nodes. All but the kubelets is the real thing.")
	if s.cluster, err = cluster.Start(s.ctx, cluster.Options{ControllerManager: true, Scheduler: true, Kwok: true}); err != nil {
		return err
	}
	kinds := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(kinds), v1.AddToScheme(kinds)); err != nil {
		return err
	}
	if s.client, err = client.NewWithWatch(s.cluster.Config, client.Options{Scheme: kinds}); err != nil {
		return err
	}
	home := filepath.Join(s.dir, "home")
	s.work = filepath.Join(home, "platform")
	if err := os.MkdirAll(s.work, 0o755); err != nil {
		return err
	}
	s.env = []string{
		"PATH=" + filepath.Dir(s.cluster.Program("kubectl")) + ":" + filepath.Dir(s.program) + ":" + os.Getenv("PATH"),
		"HOME=" + home, "TMPDIR=" + s.dir, "TERM=dumb",
		"KUBECONFIG=" + s.cluster.Kubeconfig(), "KUBERC=off",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
	}
	s.git, err = serveGit(s.ctx, s.dir, s.env)
	return err
}

// makeRepository makes the bare repository platform.git, with the pools of the
// quickstart in pools/ on the branch main, and the working copy of the user.
func (s *stage) makeRepository() {
	if s.err != nil {
		return
	}
	s.fail(os.CopyFS(filepath.Join(s.work, "pools"), os.DirFS("examples/quickstart")))
	s.quietly("git init -q --bare " + quoted(filepath.Join(s.dir, "platform.git")) +
		" && git -C " + quoted(filepath.Join(s.dir, "platform.git")) + " symbolic-ref HEAD refs/heads/main" +
		" && git init -q && git symbolic-ref HEAD refs/heads/main" +
		" && git remote add origin " + s.git.URL + "/platform.git" +
		" && git config http.sslCAInfo " + quoted(filepath.Join(s.dir, "home", "ca.crt")) +
		" && git config credential.helper " + quoted("store --file="+quoted(filepath.Join(s.dir, "home", "git-credentials"))) +
		" && git config http.postBuffer 100000000" + // the server takes no chunks
		" && git add pools && git commit -q -m 'Our pools' && git push -q -u origin main")
}

// makeNodes creates twenty nodes and waits until Kubernetes has written all that it
// writes on a new node.
func (s *stage) makeNodes() {
	var nodes []string
	for i := range 3 {
		nodes = append(nodes, manifest(fmt.Sprintf("cp-%d", i+1), `node-role.kubernetes.io/master: ""`), manifest(fmt.Sprintf("edge-%d", i+1)))
	}
	for i, accelerator := range []string{"a100", "a100", "h100", "h100"} {
		nodes = append(nodes, manifest(fmt.Sprintf("gpu-%d", i+1), "example.com/accelerator: "+accelerator))
	}
	for i := range 10 {
		nodes = append(nodes, manifest(fmt.Sprintf("worker-%02d", i+1)))
	}
	s.write("../nodes.yaml", strings.Join(nodes, "---\n"))
	s.quietly("kubectl create --field-manager=kubelet -f ../nodes.yaml")
	s.until("Ready nodes", func() error {
		var list corev1.NodeList
		if err := s.client.List(s.ctx, &list); err != nil {
			return err
		}
		s.bare = map[string]corev1.Node{}
		for _, node := range list.Items {
			// Controllers of Kubernetes put these on every node, some time after it joins.
			if len(node.Spec.Taints) > 0 || node.Labels["beta.kubernetes.io/os"] == "" || node.Labels["beta.kubernetes.io/arch"] == "" ||
				node.Annotations["node.alpha.kubernetes.io/ttl"] == "" {
				return fmt.Errorf("node %s is not Ready", node.Name)
			}
			s.bare[node.Name] = node
		}
		return nil
	})
}

// manifest is a node as a kubelet registers it, with labels of its own.
func manifest(name string, labels ...string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata:\n  name: %s\n  labels: {%s}\n", name,
		strings.Join(append([]string{"kubernetes.io/hostname: " + name, "kubernetes.io/os: linux", "kubernetes.io/arch: amd64"}, labels...), ", "))
}

// keepPage copies the review out of the folder that is removed at the end.
func (s *stage) keepPage() {
	if s.err != nil {
		return
	}
	page, err := os.ReadFile(filepath.Join(s.dir, "home", "review.html"))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(s.page), 0o755)
	}
	if err == nil {
		err = os.WriteFile(s.page, page, 0o644)
	}
	if err != nil {
		s.fail(fmt.Errorf("keep the review: %w", err))
		return
	}
	s.say("The review with the evictions is kept as a page. Open it in a browser:")
	fmt.Fprintf(s.out, "\n%s\n", s.page)
}

// keep leaves everything running until an interrupt, which is no failure.
func (s *stage) keep() {
	s.title("The cluster keeps running")
	s.say("In another terminal:")
	fmt.Fprintf(s.out, "\nexport KUBECONFIG=%s\nexport PATH=%s:%s:\"$PATH\"\ncd %s\n",
		quoted(s.cluster.Kubeconfig()), quoted(filepath.Dir(s.program)), quoted(filepath.Dir(s.cluster.Program("kubectl"))), quoted(s.work))
	s.say("That folder is a clone of the Git repository: change a file in pools/, commit, git push, and watch kubectl get nodepools.nodes.lailin.xyz,nodes. Press Ctrl-C here to end.")
	<-s.ctx.Done()
	if cause := context.Cause(s.ctx); errors.Is(cause, program.ErrEnded) {
		s.fail(cause)
	}
}

// clear stops and removes all that was started and made, the last thing first.
func (s *stage) clear() error {
	var errs []error
	if s.controller != nil {
		errs = append(errs, s.controller.Stop())
	}
	if s.git != nil {
		s.git.Close()
	}
	if s.cluster != nil {
		errs = append(errs, s.cluster.Stop())
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}
