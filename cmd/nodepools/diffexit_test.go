package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// gitFolder is a repository with a folder pools, made by the git program.
type gitFolder struct {
	t   *testing.T
	dir string
}

func newGitFolder(t *testing.T) *gitFolder {
	t.Helper()
	g := &gitFolder{t: t, dir: t.TempDir()}
	g.git("init", "--quiet", "--initial-branch=main")
	return g
}

func (g *gitFolder) git(args ...string) string {
	g.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = g.dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(each string) bool { return strings.HasPrefix(each, "GIT_") }),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		g.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// pool writes the file of a pool with one label.
func (g *gitFolder) pool(name, tier string) {
	g.t.Helper()
	file := filepath.Join(g.dir, "pools", name+".yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		g.t.Fatal(err)
	}
	content := "apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata: {name: " + name + "}\nspec: {labels: {tier: " + tier + "}}\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

func (g *gitFolder) commit() {
	g.t.Helper()
	g.git("add", "--all")
	g.git("commit", "--quiet", "--message=c")
}

// TestDiffExitCodes: 0, 1 and 2 mean the same in every comparison, and what is
// wrong is never taken for a difference.
func TestDiffExitCodes(t *testing.T) {
	g := newGitFolder(t)
	g.git("commit", "--quiet", "--allow-empty", "--message=empty")
	g.git("tag", "empty")
	g.pool("gpu", "gold")
	g.commit()
	g.git("checkout", "--quiet", "-b", "change")
	g.pool("gpu", "iron")
	g.commit()
	pools := filepath.Join(g.dir, "pools")
	shallow := t.TempDir()
	g.git("clone", "--quiet", "--depth=1", "--no-single-branch", "file://"+g.dir, shallow)
	bare := t.TempDir()
	g.git("clone", "--quiet", "--bare", g.dir, bare)
	sha256 := t.TempDir()
	g.git("init", "--quiet", "--object-format=sha256", sha256)
	inventory := filepath.Join(t.TempDir(), "inventory.json")
	if err := os.WriteFile(inventory, []byte(`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"inventory.nodes.lailin.xyz/v1","kind":"Inventory"},{"apiVersion":"v1","kind":"Node","metadata":{"name":"gpu-1","labels":{"node-role.kubernetes.io/gpu":""}}},{"apiVersion":"v1","kind":"Node","metadata":{"name":"gpu-2","labels":{"node-role.kubernetes.io/gpu":""}}},{"apiVersion":"v1","kind":"Node","metadata":{"name":"gpu-3","labels":{"node-role.kubernetes.io/gpu":""}}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`{`), 0o600); err != nil {
		t.Fatal(err)
	}
	nobody := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(nobody, []byte("apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", nobody)
	t.Setenv("PATH", "") // no program is needed, git neither
	t.Chdir(t.TempDir())

	for name, c := range map[string]struct {
		args []string
		code int
		says string // on standard error
	}{
		"no difference":                  {[]string{"--base", "change", pools}, 0, "nodes and pods is not known"},
		"difference":                     {[]string{"--base", "main", pools}, 1, ""},
		"difference, exit zero":          {[]string{"--base", "main", pools, "--exit-zero"}, 0, ""},
		"difference of revisions":        {[]string{"--base", "main", "--head", "change", pools}, 1, ""},
		"new folder":                     {[]string{"--base", "empty", pools}, 1, "has no pool files in the folder pools"},
		"merge base":                     {[]string{"--base", "main", "--merge-base", pools}, 1, ""},
		"with an inventory":              {[]string{"--base", "main", pools, "--inventory", inventory}, 1, "no NodePoolSource"},
		"files and an inventory":         {[]string{pools, "--inventory", inventory}, 1, ""},
		"path without a repository":      {[]string{"--base", "main", "--head", "change", "--path", "pools"}, 2, "is not in a Git repository"},
		"unknown base":                   {[]string{"--base", "nope", pools}, 2, `base: there is no branch, tag or commit "nope"`},
		"unknown head":                   {[]string{"--base", "main", "--head", "nope", pools}, 2, `head: there is no branch, tag or commit "nope"`},
		"no folder at the head":          {[]string{"--base", "main", "--head", "empty", pools}, 2, "changes nothing and prunes nothing"},
		"no merge base in a shallow one": {[]string{"--base", "origin/main", "--head", "origin/change", "--merge-base", filepath.Join(shallow, "pools")}, 2, "fetch-depth: 0"},
		"shallow, without merge base":    {[]string{"--base", "origin/main", "--head", "origin/change", filepath.Join(shallow, "pools")}, 1, ""},
		"no repository":                  {[]string{"--base", "main"}, 2, "is not in a Git repository"},
		"no working tree":                {[]string{"--base", "main", bare}, 2, "has no working tree"},
		"sha256":                         {[]string{"--base", "main", sha256}, 2, "SHA-256"},
		"a file":                         {[]string{"--base", "main", filepath.Join(pools, "gpu.yaml")}, 2, "is a file"},
		"no inventory":                   {[]string{"--base", "main", pools, "--inventory", "nowhere.json"}, 2, "inventory: open nowhere.json"},
		"broken inventory":               {[]string{"--base", "main", pools, "--inventory", broken}, 2, "'nodepools inventory' writes such a file"},
		"unreachable cluster":            {[]string{pools}, 2, "cannot reach http://127.0.0.1:1"},
		"unreachable cluster, source":    {[]string{"--source", "fleet", "--ref", "main"}, 2, "cannot reach http://127.0.0.1:1"},
		"unreachable cluster, dry run":   {[]string{pools, "--server-side"}, 2, "cannot reach http://127.0.0.1:1"},
		"source of an inventory":         {[]string{"--source", "fleet", "--inventory", inventory}, 2, `there is no NodePoolSource "fleet"`},
		"wrong ref":                      {[]string{"--source", "fleet", "--ref", "a..b"}, 2, `error: --ref: ref: "a..b" is neither`},
		"nothing to compare":             {nil, 2, "PATH is missing"},
		"an empty variable":              {[]string{"--base", "", pools}, 2, "--base is empty"},
		"an empty source":                {[]string{"--source", ""}, 2, "--source is empty"},
		"an empty marker":                {[]string{pools, "--inventory", inventory, "--marker", ""}, 2, "--marker is empty"},
		"marker of no comment":           {[]string{pools, "--inventory", inventory, "--marker", "a"}, 2, "--marker requires -o markdown"},
		"bytes of no comment":            {[]string{pools, "--inventory", inventory, "--max-bytes", "9000"}, 2, "--max-bytes requires -o markdown"},
		"an empty head":                  {[]string{"--base", "main", "--head", "", pools}, 2, "--head is empty"},
		"an empty ref":                   {[]string{"--source", "fleet", "--ref", ""}, 2, "--ref is empty"},
		"an empty inventory":             {[]string{pools, "--inventory", ""}, 2, "--inventory is empty"},
		"an empty path":                  {[]string{"--base", "main", ""}, 2, "PATH is empty"},
		"two paths":                      {[]string{"--base", "main", "a", "b"}, 2, "takes one PATH"},
		"path and PATH":                  {[]string{"--base", "main", "--path", "pools", "pools"}, 2, "--path and PATH exclude each other"},
		"head without base":              {[]string{"--head", "main", pools}, 2, "--head requires --base"},
		"merge base without base":        {[]string{"--merge-base", pools}, 2, "--merge-base requires --base"},
		"path without base":              {[]string{"--source", "fleet", "--path", "pools"}, 2, "--path requires --base"},
		"ref without source":             {[]string{"--ref", "main"}, 2, "PATH is missing"},
		"ref and PATH":                   {[]string{"--ref", "main", "--source", "fleet", pools}, 2, "--ref and PATH exclude each other"},
		"ref and base":                   {[]string{"--ref", "main", "--source", "fleet", "--base", "main"}, 2, "--ref and --base exclude each other"},
		"base and context":               {[]string{"--base", "main", "--context", "c", pools}, 2, "--context and --base exclude each other"},
		"base and kubeconfig":            {[]string{"--base", "main", "--kubeconfig", "c", pools}, 2, "--kubeconfig and --base exclude each other"},
		"base and timeout":               {[]string{"--base", "main", "--timeout", "1s", pools}, 2, "--timeout and --base exclude each other"},
		"base and dry run":               {[]string{"--base", "main", "--server-side", pools}, 2, "--server-side and --base exclude each other"},
		"inventory and dry run":          {[]string{"--inventory", inventory, "--server-side", pools}, 2, "--server-side and --inventory exclude each other"},
		"inventory and context":          {[]string{"--inventory", inventory, "--context", "c", pools}, 2, "--context and --inventory exclude each other"},
		"unknown flag":                   {[]string{"--base", "main", "--nope"}, 2, "unknown flag"},
		"unknown format":                 {[]string{"--base", "main", pools, "-o", "xml"}, 2, `--output "xml" is not known`},
	} {
		t.Run(name, func(t *testing.T) {
			var out, err bytes.Buffer
			code := execute(t.Context(), append([]string{"nodepools", "diff"}, c.args...), streams{in: strings.NewReader(""), out: &out, err: &err})
			if code != c.code || !strings.Contains(err.String(), c.says) {
				t.Errorf("exit code %d, want %d, and it says %q, want %q", code, c.code, err.String(), c.says)
			}
			if (code == exitUsage) != (out.Len() == 0) {
				t.Errorf("exit code %d, and on standard output:\n%s", code, out.String())
			}
		})
	}
}

// TestNoLimitHoldsOnceTheBaseHasMoved: merging also brings together what each side has done
// since the merge base, of which the head by itself says nothing.
func TestNoLimitHoldsOnceTheBaseHasMoved(t *testing.T) {
	g := newGitFolder(t)
	g.pool("gpu", "gold")
	g.commit()
	g.git("checkout", "--quiet", "-b", "change")
	g.pool("other", "iron")
	g.commit()
	says := func(code int, wants ...string) {
		t.Helper()
		var out, problems bytes.Buffer
		got := execute(t.Context(), []string{"nodepools", "diff", "--base", "main", "--merge-base", "--head", "change", filepath.Join(g.dir, "pools"), "-o", "json", "--fail-on", "poolsCreated>1"},
			streams{in: strings.NewReader(""), out: &out, err: &problems})
		if got != code {
			t.Errorf("exit code %d, want %d:\n%s", got, code, problems.String())
		}
		for _, want := range wants {
			if !strings.Contains(out.String()+problems.String(), want) {
				t.Errorf("nothing says %q:\n%s%s", want, out.String(), problems.String())
			}
		}
	}
	says(1)
	g.git("checkout", "--quiet", "main")
	g.git("commit", "--quiet", "--allow-empty", "--message=elsewhere")
	says(1)
	for _, tier := range []string{"silver", "not valid"} {
		g.pool("gpu", tier)
		g.commit()
		says(2, `"movedBase": "main@sha1:`, "poolsCreated not known: main@sha1:", "has other pools than the merge base\nmerge it into the head first\n")
	}
	g.git("checkout", "--quiet", "-B", "merged", "main~1")
	g.git("merge", "--quiet", "--no-edit", "change")
	g.git("checkout", "--quiet", "-B", "main", "main~1")
	g.git("branch", "--quiet", "--force", "change", "merged")
	says(1)
}

// TestUnknownPodsPassNoLimit: an inventory that was taken without the right to list
// pods is no cluster without pods.
func TestUnknownPodsPassNoLimit(t *testing.T) {
	g := newGitFolder(t)
	g.pool("gpu", "gold")
	file := filepath.Join(t.TempDir(), "inventory.json")
	if err := os.WriteFile(file, []byte(`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"inventory.nodes.lailin.xyz/v1","kind":"Inventory","withoutPods":true}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	code := execute(t.Context(), []string{"nodepools", "diff", filepath.Join(g.dir, "pools"), "--inventory", file, "-o", "json", "--exit-zero", "--fail-on", "evictions>0"},
		streams{in: strings.NewReader(""), out: &out, err: &problems})
	if code != exitUsage || !strings.Contains(problems.String(), "evictions not known") || !strings.Contains(problems.String(), "may not list them") {
		t.Errorf("exit code %d, want %d, with the reason:\n%s", code, exitUsage, problems.String())
	}
	if !strings.Contains(out.String(), `"pods": null`) || !strings.Contains(out.String(), `"impact": null`) {
		t.Errorf("pods are reported as known:\n%s", out.String())
	}
}
