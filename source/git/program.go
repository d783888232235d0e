package git

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"github.com/nodepools/nodepools/source"
)

// startProgram runs git upload-pack on this machine, for file URLs. It is
// killed when ctx ends.
func (t *target) startProgram(ctx context.Context) (server, error) {
	if _, err := os.Stat(t.address.path); errors.Is(err, fs.ErrNotExist) {
		return nil, t.fail(source.ErrRepositoryMissing, "there is no such folder").WithHint("check the URL")
	}
	ctx, cancel := context.WithCancel(ctx)
	s, err := t.start(exec.CommandContext(ctx, "git", "upload-pack", t.address.path), cancel)
	if err != nil {
		cancel()
		if errors.Is(err, exec.ErrNotFound) {
			return nil, t.fail(source.ErrUnsupported, "file URLs need the git program, which is not there").WithHint("install git")
		}
		return nil, err
	}
	return s, nil
}

func (t *target) start(cmd *exec.Cmd, cancel func()) (server, error) {
	stderr := &stderrText{}
	cmd.Stderr = stderr
	cmd.Env = append(environment(os.Environ()), "GIT_PROTOCOL="+version2)
	cmd.WaitDelay = gracePeriod // for children that hold the pipes open
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &stream{target: t, in: in, out: bufio.NewReader(t.counted(out)), stderr: stderr}
	s.awaitStderr = func() { _ = cmd.Wait() } // the exit code says nothing that stderr does not
	s.end = func() {
		_ = in.Close() // git ends when its input does
		cancel()
		_ = cmd.Wait() // reports that it was killed, or was waited for
	}
	return s, nil
}

// environment takes out the variables that would point git to another
// repository, as they do inside a Git hook, or change the protocol.
func environment(all []string) []string {
	var kept []string
	for _, variable := range all {
		name, _, _ := strings.Cut(variable, "=")
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX",
			"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE",
			"GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS",
			"GIT_PROTOCOL":
			continue
		}
		kept = append(kept, variable)
	}
	return kept
}
