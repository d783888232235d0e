package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/docs"
)

// Every command in a block of shell is run, in the order of its block, as a reader would
// copy it; but for those of notRun.
func TestDocumentedCommandsRun(t *testing.T) {
	r := newReader(t)
	skipped, ran := map[string]bool{}, 0
	uninstall := uninstalling(t)
	for _, page := range docs.All(t) {
		if page.Path == "README.zh-CN.md" {
			continue // TestTranslationKeepsUp: it has the same blocks
		}
		if page.Path == "docs/restore.md" {
			continue // TestRestorePage: they bring back what is lost there
		}
		for _, commands := range documentedCommands(page) {
			dir := r.clone(t)
			for _, command := range commands {
				if strings.HasPrefix(command, "make ") || strings.HasPrefix(command, "go ") {
					continue // a target or a test of this repository: .ci/run runs what every change has to pass
				}
				key := command
				if uninstall[command] != "" {
					key = uninstall[command]
				}
				if notRun[key] != "" {
					skipped[key] = true
					continue
				}
				ran++
				r.run(t, dir, page.Path, command)
			}
		}
	}
	if ran < 30 {
		t.Errorf("%d commands were run: the test does not find what there is", ran)
	}
	for command, reason := range notRun {
		if !skipped[command] {
			t.Errorf("no page has the command %q, which is not run because it %s", command, reason)
		}
	}
}

// Each test that a reason names exists.
func TestReasonsNameTestsThatExist(t *testing.T) {
	code := ""
	for _, file := range testFiles(t) {
		code += file
	}
	for command, reason := range notRun {
		for _, mention := range testMention.FindAllStringSubmatch(reason, -1) {
			if !strings.Contains(code, "\nfunc "+mention[1]+"(") {
				t.Errorf("%s: there is no test %s", command, mention[1])
			}
			if script := mention[2]; script != "" {
				if _, err := os.Stat(filepath.Join(scriptFolders[mention[1]], script+".txtar")); err != nil {
					t.Errorf("%s: %v", command, err)
				}
			}
		}
	}
}

// A reader has a cluster with nodes, pools and a source, and a repository with pools,
// as the documentation assumes.
type reader struct {
	home       string
	program    string // path
	env        []string
	replace    *strings.Replacer
	repository string
	inventory  string
}

const readersObjects = `
apiVersion: v1
kind: Namespace
metadata: {name: flux-system}
---
apiVersion: v1
kind: Namespace
metadata: {name: nodepools-system}
---
apiVersion: v1
kind: Namespace
metadata: {name: argocd}
---
apiVersion: v1
kind: Secret
metadata: {name: flux-system, namespace: flux-system}
stringData: {username: git, password: token}
---
apiVersion: v1
kind: Secret
metadata: {name: platform-repo, namespace: argocd, labels: {argocd.argoproj.io/secret-type: repository}}
stringData: {type: git, url: "https://git.example.com/platform", username: git, password: token}
---
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: gpu}
spec: {nodeNames: ["gpu-*"]}
---
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: edge}
spec: {nodeNames: ["edge-*"]}
---
apiVersion: nodes.lailin.xyz/v1
kind: NodePoolSource
metadata: {name: platform}
spec: {url: "file://REPOSITORY", ref: {branch: main}, path: pools}
---
apiVersion: v1
kind: Node
metadata: {name: gpu-1, labels: {team: vision}}
---
apiVersion: v1
kind: Node
metadata: {name: edge-1, labels: {node-role.kubernetes.io/edge: "", zone: dmz}}
`

func newReader(t *testing.T) *reader {
	t.Helper()
	c := cluster.New(t, cluster.Options{CRDs: neighbours()})
	home := t.TempDir()
	local, programs := filepath.Join(home, "local"), shippedProgram(t)
	r := &reader{home: home, program: filepath.Join(programs, "nodepools"), repository: filepath.Join(home, "repository"), inventory: filepath.Join(home, "inventory.json")}
	r.env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(), "KUBERC=off", "HOME="+home, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"PATH="+strings.Join([]string{local, programs, filepath.Dir(c.Program("kubectl")), os.Getenv("PATH")}, string(os.PathListSeparator)))

	if err := os.Mkdir(local, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(r.repository, "pools"), os.DirFS(filepath.Join(docs.Root(t), "examples", "tenants"))); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(r.repository, "layers"), os.DirFS(filepath.Join(docs.Root(t), "examples", "layers"))); err != nil {
		t.Fatal(err)
	}
	r.setUp(t, r.repository, "git init -q -b main && git add . && git commit -q -m pools && git tag v2.1.0")
	objects := filepath.Join(home, "objects.yaml")
	if err := os.WriteFile(objects, []byte(strings.ReplaceAll(readersObjects, "REPOSITORY", r.repository)), 0o600); err != nil {
		t.Fatal(err)
	}
	r.setUp(t, home, `nodepools install --crds-only | kubectl apply --server-side -f -
		kubectl wait --for=condition=Established --timeout=60s crd/nodepools.nodes.lailin.xyz crd/nodepoolsources.nodes.lailin.xyz
		kubectl apply -f objects.yaml
		nodepools inventory --output-file inventory.json`)
	uid := r.setUp(t, home, "kubectl get nodepoolsources.nodes.lailin.xyz platform -o jsonpath='{.metadata.uid}'")
	r.replace = strings.NewReplacer("<40 hex>", strings.Repeat("a", 40), "<uid>", uid, "/usr/local/bin", local)
	return r
}

// clone returns a clone of the repository, on a branch with a change, beside the
// program as it was built, the examples and an inventory.
func (r *reader) clone(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	r.setUp(t, r.home, "git clone -q "+r.repository+" "+dir)
	r.setUp(t, dir, `git checkout -q -b change && rm pools/search.yaml && git commit -q -a -m change
		mkdir bin && cp "$HOME/inventory.json" inventory.json && cp inventory.json prod-1.json && cp inventory.json prod-2.json`)
	for link, to := range map[string]string{"bin/nodepools": r.program, "examples": filepath.Join(docs.Root(t), "examples")} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run runs a command of a page. One of diff may end with the code of a difference, 1,, or
// of a threshold.
func (r *reader) run(t *testing.T, dir, page, command string) {
	t.Helper()
	expected := []int{0}
	if strings.Contains(command, "nodepools diff") {
		expected = []int{0, exitFailed, exitExceeded}
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", r.replace.Replace(command))
	cmd.Dir, cmd.Env = dir, r.env
	output, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); !slices.Contains(expected, code) {
		t.Errorf("%s: %s: the exit code is %d, not one of %d\n%s", page, command, code, expected, output)
	}
}

// setUp runs what makes the world of a reader, and returns its output.
func (r *reader) setUp(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
	cmd.Dir, cmd.Env = dir, r.env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", script, err, output, &stderr)
	}
	return string(output)
}
