package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// buildAll builds programs in scratch and puts each into dir when it is complete.
func buildAll(dir, scratch string, todo []program, newest string) error {
	for _, p := range todo {
		say("building %s; the first build of all takes about 12 minutes on 2 cores", p.name)
		if p.kubernetes != "" && p.kubernetes != newest {
			p.module = filepath.Join(scratch, "module")
			if err := writeModule(p.module, p.kubernetes); err != nil {
				return fmt.Errorf("k8s.io/kubernetes %s: %w", p.kubernetes, err)
			}
		}
		args := []string{"build", "-ldflags", "-s -w" + stamp(p.kubernetes), "-o", filepath.Join(scratch, p.name), p.pkg}
		if strings.Contains(p.pkg, "@") {
			args = []string{"install", "-ldflags", "-s -w", p.pkg}
		}
		if _, err := goTool(p.module, []string{"GOBIN=" + scratch, "GOTMPDIR=" + scratch}, args...); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(scratch, p.name), filepath.Join(dir, p.name)); err != nil {
			return err
		}
	}
	return nil
}

// goTool returns what the go tool prints in a folder; empty for this one.
func goTool(dir string, env []string, args ...string) ([]byte, error) {
	flags := "-trimpath"
	if dir != "" {
		flags += " -mod=mod"
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	// The user's flags and workspace are for other modules.
	cmd.Env = append(append(os.Environ(), env...),
		"CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH, "GOFLAGS="+flags, "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s%s", strings.Join(args, " "), err, output, stderr.Bytes())
	}
	return output, err
}

// stamp returns the linker flags with which a program of Kubernetes reports its
// version. Without them it reports v0.0.0, and clients believe it.
func stamp(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) != 3 {
		return ""
	}
	const pkg = " -X k8s.io/component-base/version."
	return pkg + "gitVersion=" + version + pkg + "gitTreeState=clean" + pkg + "gitMajor=" + parts[0] + pkg + "gitMinor=" + parts[1]
}

// writeModule makes dir a module in which a version of Kubernetes is built with
// its own go.mod and go.sum. The folders that go.mod has in place of modules are
// not part of the published module: the modules of the same release replace them.
func writeModule(dir, version string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	output, err := goTool(dir, nil, "mod", "download", "-json", "k8s.io/kubernetes@"+version)
	if err != nil {
		return err
	}
	var source struct{ Dir string }
	if err := json.Unmarshal(output, &source); err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(source.Dir, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	if output, err = goTool(dir, nil, "mod", "edit", "-json"); err != nil {
		return err
	}
	var file struct {
		Replace []struct{ Old, New struct{ Path string } }
	}
	if err := json.Unmarshal(output, &file); err != nil {
		return err
	}
	edit := []string{"mod", "edit", "-module=nodepools.invalid/controlplane", "-require=k8s.io/kubernetes@" + version}
	for _, r := range file.Replace {
		if strings.HasPrefix(r.New.Path, "./staging/") {
			edit = append(edit, fmt.Sprintf("-replace=%[1]s=%[1]s@v0%[2]s", r.Old.Path, strings.TrimPrefix(version, "v1")))
		}
	}
	_, err = goTool(dir, nil, edit...)
	return err
}
