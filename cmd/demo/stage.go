package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/kubernetes"

	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/program"
)

// stage is everything that the story needs and that has to be cleared after it.
type stage struct {
	out     *terminal
	steps   *steps // nil goes on by itself
	page    string // file to keep the review in, as a page
	sh      *shell
	cluster *cluster.Cluster
	client  kubernetes.Interface // the administrator's, for looking
	git     *gitServer

	// controller is nil until the story starts it, with the program at the path;
	// gone is called when it ends unasked.
	controller *program.Process
	program    string
	gone       func(error)

	dir string // temporary, for all files

	// token is what the Git server signs its reports with.
	token string

	// foretold are the names of the pods of which diff has said that they go.
	foretold []string

	// bare are the nodes as they were before there was any pool, by name.
	bare map[string]facts
}

// set starts the cluster and the Git server, and makes nodes and repository.
func (s *stage) set(ctx context.Context, program string, gone func(error)) (err error) {
	s.gone = gone
	if s.program, err = filepath.Abs(program); err != nil {
		return err
	}
	if _, err := os.Stat(s.program); err != nil {
		return fmt.Errorf("%w\nbuild it first, or run: make demo", err)
	}
	if _, err := os.Stat("examples/quickstart"); err != nil {
		return fmt.Errorf("%w\nrun this from the root of the repository: make demo", err)
	}
	if s.dir, err = os.MkdirTemp("", "nodepools-demo-"); err != nil {
		return err
	}
	s.out.text("Starting etcd, kube-apiserver, kube-controller-manager and kube-scheduler on this machine, and kwok, which plays the kubelets of twenty nodes. All but the kubelets is the real thing.")
	s.cluster, err = cluster.Start(ctx, cluster.Options{ControllerManager: true, Scheduler: true, Kwok: true})
	if err != nil {
		return err
	}
	if s.client, err = kubernetes.NewForConfig(s.cluster.Config); err != nil {
		return err
	}
	if err := s.setShell(); err != nil {
		return err
	}
	if err := s.setRepository(ctx); err != nil {
		return err
	}
	return s.setNodes(ctx)
}

// setShell makes the folder in which the user of the story works.
func (s *stage) setShell() error {
	home := filepath.Join(s.dir, "home")
	work := filepath.Join(home, "platform")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return err
	}
	path := filepath.Dir(s.cluster.Program("kubectl")) + ":" + filepath.Dir(s.program) + ":" + os.Getenv("PATH")
	s.sh = &shell{out: s.out, dir: work, env: []string{
		"PATH=" + path, "HOME=" + home, "TMPDIR=" + s.dir, "TERM=dumb",
		"KUBECONFIG=" + s.cluster.Kubeconfig(), "KUBERC=off",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
	}}
	return nil
}

func (s *stage) setRepository(ctx context.Context) (err error) {
	root := filepath.Join(s.dir, "git")
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	if s.git, err = serveGit(ctx, root, filepath.Join(s.dir, "home"), s.sh.env); err != nil {
		return err
	}
	return makeRepository(ctx, s.sh, root, s.git, filepath.FromSlash("examples/quickstart"))
}

// asked reports whether a variable of the environment switches something on.
func asked(variable string) bool {
	switch strings.ToLower(os.Getenv(variable)) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

// keepPage copies the review out of what is removed at the end.
func (s *stage) keepPage() error {
	page, err := os.ReadFile(filepath.Join(s.dir, "home", "review.html"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.page), 0o755); err != nil {
		return fmt.Errorf("keep the review: %w", err)
	}
	if err := os.WriteFile(s.page, page, 0o644); err != nil {
		return fmt.Errorf("keep the review: %w", err)
	}
	s.out.text("The review with the evictions is kept as a page. Open it in a browser:")
	fmt.Fprintf(s.out.out, "\n%s\n", s.page)
	return nil
}

// keep leaves everything running until the user has had enough, which is an
// interrupt and no failure.
func (s *stage) keep(ctx context.Context) error {
	s.out.title("The cluster keeps running")
	s.out.text("In another terminal:")
	fmt.Fprintf(s.out.out, "\nexport KUBECONFIG=%s\nexport PATH=%s:%s:\"$PATH\"\ncd %s\n",
		quoted(s.cluster.Kubeconfig()), quoted(filepath.Dir(s.program)), quoted(filepath.Dir(s.cluster.Program("kubectl"))), quoted(s.sh.dir))
	s.out.text("That folder is a clone of the Git repository: change a file in pools/, commit, git push, and watch kubectl get nodepools.nodes.lailin.xyz,nodes. Press Ctrl-C here to end.")
	<-ctx.Done()
	if cause := context.Cause(ctx); errors.Is(cause, program.ErrEnded) {
		return cause
	}
	return nil
}

// clear stops and removes all that was started and made, the last thing first,
// however far it got.
func (s *stage) clear() error {
	var errs []error
	if s.controller != nil {
		errs = append(errs, s.controller.Stop())
	}
	if s.git != nil {
		errs = append(errs, s.git.close())
	}
	if s.cluster != nil {
		errs = append(errs, s.cluster.Stop())
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}

func (s *stage) controllerLogFile() string { return filepath.Join(s.dir, "controller.log") }

func (s *stage) controllerLog() string {
	if s.controller == nil {
		return ""
	}
	return s.controller.Tail()
}

// write puts a file into the folder in which the user works.
func (s *stage) write(name, content string) error {
	return os.WriteFile(filepath.Join(s.sh.dir, filepath.FromSlash(name)), []byte(content), 0o644)
}
