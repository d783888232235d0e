package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Kubectl runs kubectl as the administrator and returns what it prints to
// standard output. The error has what it prints to standard error. For another
// user, pass "--kubeconfig" and a path, or "--as" and a name.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	return c.kubectl(ctx, nil, args)
}

// Apply applies manifests as the administrator, as kubectl apply -f does, and
// returns what kubectl prints.
func (c *Cluster) Apply(ctx context.Context, manifests string) (string, error) {
	return c.kubectl(ctx, strings.NewReader(manifests), []string{"apply", "-f", "-"})
}

func (c *Cluster) kubectl(ctx context.Context, stdin io.Reader, args []string) (string, error) {
	ctx, done, err := c.using(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	cmd := exec.CommandContext(ctx, c.Program("kubectl"), args...)
	cmd.WaitDelay = time.Second // a plugin of kubectl may hold on to the output
	cmd.SysProcAttr = attributes()
	runtime.LockOSThread() // for attributes
	defer runtime.UnlockOSThread()
	cmd.Env = append(cmd.Environ(),
		"KUBECONFIG="+c.kubeconfig,
		// The discovery cache is kept by address, and addresses come back:
		// another cluster's would be believed.
		"KUBECACHEDIR="+filepath.Join(c.dir, "kubectl-cache"),
		"KUBERC=off",
	)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}

// using returns a context which ends with the cluster. Stop waits for done, so
// that no kubectl outlives the API server and goes on asking for it.
func (c *Cluster) using(ctx context.Context) (_ context.Context, done func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.alive.Err(); err != nil {
		return nil, nil, errors.New("the cluster was stopped")
	}
	c.users.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	detach := context.AfterFunc(c.alive, cancel)
	return ctx, func() {
		detach()
		cancel()
		c.users.Done()
	}, nil
}
