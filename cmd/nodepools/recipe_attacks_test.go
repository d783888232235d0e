package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// smudgedPool is a pool that evicts pods; where git writes the keyword $Id$ out, all
// after it is gone from the file on disk.
const smudgedPool = `apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: gpu}
spec: {"labels":{"example.com/tier":"bronze"},"annotations":{"example.com/note":"$Id:"},"taints":[{"key":"example.com/drained","value":"yes","effect":"NoExecute"}]}` + "\t#$\"}}\n"

// encodedPool evicts the same pods; where git writes it in Shift JIS, the quote after the
// yen sign ends nothing, and all up to the comment is in it.
const encodedPool = `apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: gpu}
spec: {"labels":{"example.com/tier":"bronze"},"annotations":{"example.com/note":"¥"},taints: [{key: example.com/drained, value: 'yes', effect: NoExecute}]}` + "\t#\"}}\n"

// checksOut commits a pool as it is, and then attributes by which git writes it into the
// working tree in another way.
func (r *recipe) checksOut(t *testing.T, pool, attributes string) {
	t.Helper()
	r.commit(t, "pools/gpu.yaml", pool)
	r.write(t, ".gitattributes", attributes+"\n")
	r.git(t, "add", ".gitattributes") // alone, or git would take back from the file what it does to it
	r.git(t, "commit", "--quiet", "--message", "attributes")
	if err := os.Remove(filepath.Join(r.folder, "pools/gpu.yaml")); err != nil {
		t.Fatal(err)
	}
	r.git(t, "checkout", "--quiet", "--", "pools")
	if blob := r.git(t, "show", "HEAD:pools/gpu.yaml"); blob != pool {
		t.Fatalf("the commit has another file, so nothing is tested:\n%s", blob)
	}
}

// hides fails the test where the file on disk has a text, which the commit has.
func (r *recipe) hides(t *testing.T, text string) {
	t.Helper()
	if on := r.read(t, "pools/gpu.yaml"); strings.Contains(on, text) {
		t.Fatalf("the file on disk has %s:\n%s", text, on)
	}
}

// What a review lets through is what merging does. Each of these pull requests taints
// every node of the pool, and was let through.
func TestReviewRecipeIsNotFooled(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	drain := func(t *testing.T, r *recipe) { r.commit(t, "pools/gpu.yaml", gpuPool("bronze", "example.com/drained")) }
	for name, attack := range map[string]struct {
		reason string
		do     func(t *testing.T, r *recipe)
	}{
		"nothing of the kind": {"the review sees the taint", drain},
		"ident": {"git rewrites the file that is checked out", func(t *testing.T, r *recipe) {
			r.checksOut(t, smudgedPool, "*.yaml ident")
			r.hides(t, "NoExecute")
		}},
		"working-tree-encoding": {"in it, a yen sign is the backslash that lets a quote go on", func(t *testing.T, r *recipe) {
			r.checksOut(t, encodedPool, "*.yaml working-tree-encoding=SHIFT_JIS")
			r.hides(t, "¥")
			if text := r.read(t, "pools/gpu.yaml"); !strings.Contains(text, `"\"},taints:`) {
				t.Fatalf("the file on disk has the taint:\n%s", text)
			}
		}},
		"a filter": {"a program of the configuration writes the file", func(t *testing.T, r *recipe) {
			r.git(t, "config", "filter.odd.smudge", "sed s/NoExecute/PreferNoSchedule/")
			r.checksOut(t, gpuPool("bronze", "example.com/drained"), "*.yaml filter=odd")
			r.hides(t, "NoExecute")
		}},
		"a filter that fails": {"and is required", func(t *testing.T, r *recipe) {
			r.checksOut(t, gpuPool("bronze", "example.com/drained"), "*.yaml filter=odd")
			r.git(t, "config", "filter.odd.smudge", "false")
			r.git(t, "config", "filter.odd.clean", "false")
			r.git(t, "config", "filter.odd.required", "true")
		}},
		"line endings": {"git writes others", func(t *testing.T, r *recipe) {
			r.checksOut(t, gpuPool("bronze", "example.com/drained"), "*.yaml text eol=crlf")
			if text := r.read(t, "pools/gpu.yaml"); !strings.Contains(text, "\r\n") {
				t.Fatalf("the file on disk has the line endings of the commit: %q", text)
			}
		}},
		"line endings, beside ident": {"git converts twice", func(t *testing.T, r *recipe) {
			r.checksOut(t, smudgedPool, "*.yaml text eol=crlf ident")
			r.hides(t, "NoExecute")
		}},
		"line endings of the clone": {"as on Windows", func(t *testing.T, r *recipe) {
			r.git(t, "config", "core.autocrlf", "true")
			r.checksOut(t, gpuPool("bronze", "example.com/drained"), "*.yaml text=auto")
		}},
		"line endings in the commit": {"git takes them for unchanged without", func(t *testing.T, r *recipe) {
			r.checksOut(t, strings.ReplaceAll(gpuPool("bronze", "example.com/drained"), "\n", "\r\n"), "*.yaml text eol=lf")
		}},
		"another file on disk": {"a step before the review writes it", func(t *testing.T, r *recipe) {
			drain(t, r)
			r.write(t, "pools/gpu.yaml", gpuPool("bronze"))
		}},
		"hidden from git": {"git takes the file for unchanged", func(t *testing.T, r *recipe) {
			drain(t, r)
			r.git(t, "update-index", "--assume-unchanged", "pools/gpu.yaml")
			r.write(t, "pools/gpu.yaml", gpuPool("bronze"))
		}},
		"a tag named as the base": {"git takes a tag before a branch of the server", func(t *testing.T, r *recipe) {
			drain(t, r)
			r.git(t, "tag", "origin/main")
			r.git(t, "branch", "origin/main")
		}},
		"refs that end as the base does": {"git looks for refs/heads/<name>, too", func(t *testing.T, r *recipe) {
			drain(t, r)
			r.git(t, "update-ref", "refs/tags/refs/remotes/origin/main", "HEAD")
			r.git(t, "update-ref", "refs/heads/refs/remotes/origin/main", "HEAD")
		}},
		"a tag named as the inventory": {"no pod is known there", func(t *testing.T, r *recipe) {
			r.commit(t, "inventory.json", `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"inventory.nodes.lailin.xyz/v1","kind":"Inventory"}]}`)
			r.git(t, "tag", "origin/inventory")
			r.git(t, "update-ref", "refs/heads/refs/remotes/origin/inventory", "HEAD")
			drain(t, r)
		}},
		"refs named HEAD": {"git warns, and goes on", func(t *testing.T, r *recipe) {
			drain(t, r)
			r.git(t, "update-ref", "refs/tags/HEAD", "refs/remotes/origin/main")
			r.git(t, "update-ref", "refs/heads/HEAD", "refs/remotes/origin/main")
		}},
		"a replaced commit": {"git shows another one in its place", func(t *testing.T, r *recipe) {
			drain(t, r)
			r.git(t, "replace", "HEAD", "refs/remotes/origin/main")
		}},
		"many files": {"filters of paths look at the first few hundred", func(t *testing.T, r *recipe) {
			for i := range 400 {
				r.write(t, fmt.Sprintf("a/%d", i), "x")
			}
			drain(t, r)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecipe(t, startForge(t, "github"))
			attack.do(t, r)
			r.run(t, "FAIL_ON=evictions>0").ends(t, 3, "evictions: 3, and the limit is 0\n")
		})
	}
}

// innerPool puts a taint that evicts on whatever nodes the pool gpu has.
const innerPool = `apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: inner}
spec: {parent: gpu, nodeNames: ["*"], taints: [{key: example.com/drained, value: "yes", effect: NoExecute}]}
`

// The author of a change chooses where it branches off: what is reviewed is what merging
// makes of it and of main as it is.
func TestReviewRecipeReviewsTheMerge(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	for _, kind := range []string{"github", "gitlab"} {
		t.Run(kind, func(t *testing.T) {
			forge := startForge(t, kind)
			r := newRecipe(t, forge)
			narrow := strings.Replace(gpuPool("bronze"), "spec:", "spec:\n  nodeNames: [nowhere]", 1)
			r.git(t, "checkout", "--quiet", "-B", "main")
			r.commit(t, "pools/gpu.yaml", narrow)
			r.commit(t, "pools/gpu.yaml", gpuPool("bronze"))
			r.git(t, "update-ref", "refs/remotes/origin/main", "main")
			r.git(t, "checkout", "--quiet", "-B", "change", "main~1")
			r.commit(t, "pools/inner.yaml", innerPool)
			merged := r.run(t, "FAIL_ON=evictions>0")
			merged.ends(t, 3, "evictions: 3, and the limit is 0\n", "HEAD is reviewed as it is when merged with refs/remotes/origin/main, which is ")
			if got := r.comment(t, []forgeComment{}).body; !strings.Contains(got, "inner") || strings.Contains(got, "1 pool changed") {
				t.Errorf("the comment is of something else than the new pool:\n%s", got)
			}

			// Files that both have changed are merged as git does it, or not at all.
			r.git(t, "checkout", "--quiet", "-B", "change", "main~1")
			r.commit(t, "pools/gpu.yaml", strings.Replace(narrow, "bronze", "gold", 1))
			r.run(t, "FAIL_ON=nodesChanged>0").ends(t, 3, "nodesChanged: 3, and the limit is 0\n")
			r.commit(t, "pools/gpu.yaml", strings.Replace(narrow, "nowhere", "elsewhere", 1))
			r.run(t, "FAIL_ON=nodesChanged>0").ends(t, 2, "merge it into the branch and solve the conflicts")
			if got := r.comment(t, []forgeComment{}).body; !strings.Contains(got, "This change cannot be merged as it is.") {
				t.Errorf("the comment says %q", got)
			}
		})
	}
}

// A repository that is committed into the folder with the pools answers for nobody.
func TestReviewRecipeRefusesACommittedRepository(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	r := newRecipe(t, startForge(t, "github"))
	main := strings.TrimSpace(r.git(t, "rev-parse", "main"))
	r.commit(t, "pools/gpu.yaml", gpuPool("bronze", "example.com/drained"))
	for name, text := range map[string]string{
		"HEAD": main, "packed-refs": main + " refs/remotes/origin/main\n", "config": "[core]\n\tworktree = ..\n",
		"objects/info/alternates": "../../.git/objects\n",
	} {
		r.write(t, "pools/"+name, text)
	}
	r.commit(t, "pools/gpu.yaml", gpuPool("bronze", "example.com/drained"))
	r.run(t, "FAIL_ON=evictions>0").ends(t, 1, "is a bare repository within the working tree of "+r.folder)
	for _, args := range [][]string{
		{"diff", "--base", "refs/remotes/origin/main", "--merge-base", "--head", "HEAD", "pools"},
		{"validate", "pools", "--revision", "HEAD"},
		{"validate", "pools"},
	} {
		cmd := exec.Command("nodepools", args...)
		cmd.Dir, cmd.Env = r.folder, r.environment()
		cmd.Path = filepath.Join(strings.SplitN(r.path, string(filepath.ListSeparator), 2)[0], "nodepools")
		cmd.Err = nil
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "is a bare repository") {
			t.Errorf("nodepools %q: %v\n%s", args, err, out)
		}
	}
}

// A review that does not come to its end says so in the comment, while it can.
func TestReviewRecipeEndsInTime(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	forge := startForge(t, "github")
	r := newRecipe(t, forge)
	r.commit(t, "pools/gpu.yaml", gpuPool("gold"))
	r.run(t).ends(t, 0)
	before := r.comment(t, []forgeComment{})
	// No input is known for which nodepools has no end.
	program := filepath.Join(strings.SplitN(r.path, string(filepath.ListSeparator), 2)[0], "nodepools")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n[ \"$1\" = validate ] || exec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.run(t, "TIMEOUT=1").ends(t, 2)
	if got := r.comment(t, []forgeComment{}); got.id != before.id || !strings.Contains(got.body, "What this change does could not be worked out.") {
		t.Errorf("the comment says %q", got.body)
	}
	for _, wrong := range []string{"1h", "-1", "0", "010"} {
		r.run(t, "TIMEOUT="+wrong).ends(t, 2, "TIMEOUT is not a number of seconds")
	}
}

// A submodule in place of pools is none of them, whether it is an empty folder on disk
// or nothing at all.
func TestReviewRecipeFindsSubmodules(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	r := newRecipe(t, startForge(t, "github"))
	commit := strings.TrimSpace(r.git(t, "rev-parse", "HEAD"))
	r.git(t, "update-index", "--add", "--cacheinfo", "160000,"+commit+",pools/more")
	r.git(t, "commit", "--quiet", "--message", "submodule")
	if err := os.MkdirAll(filepath.Join(r.folder, "pools/more"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.run(t).ends(t, 1, `"more" is a submodule`)
}

// A name that somebody else can give to something else is no setting.
func TestReviewRecipeTakesFullNamesOnly(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	r := newRecipe(t, startForge(t, "github"))
	r.commit(t, "pools/gpu.yaml", gpuPool("gold"))
	for _, name := range []string{"origin/main", "main", "origin/main~1", "refs/heads/main~1", "refs/../main", "-x", "--all", "1a2b3c4", strings.Repeat("A", 40)} {
		for _, setting := range []string{"BASE", "INVENTORY_REV"} {
			r.run(t, setting+"="+name).ends(t, 2, setting+" is "+name+", which is neither a full name")
		}
	}
	r.run(t, "BASE="+strings.TrimSpace(r.git(t, "rev-parse", "main"))).ends(t, 0)
	r.run(t, "BASE=refs/heads/main", "INVENTORY_REV=refs/heads/inventory", "POOLS=./pools/").ends(t, 0)
}

// Whether there is something to review is decided by the commits, and without
// nodepools.
func TestReviewRecipeComparesTrees(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	r := newRecipe(t, startForge(t, "github"))
	changed := func(want string, env ...string) {
		t.Helper()
		got := r.runWith(t, []string{"changed"}, env...)
		if got.ends(t, 0); got.stdout != want+"\n" {
			t.Errorf("it prints %q, want %s", got.stdout, want)
		}
	}
	r.commit(t, "README.md", "of something else")
	r.write(t, "pools/gpu.yaml", "not committed")
	changed("changed=false")
	changed("changed=true", "POOLS=.")
	changed("changed=true", "POOLS=nowhere")
	changed("changed=true", "BASE=refs/remotes/origin/gone")
	r.watched = map[string]bool{}
	if got := r.run(t, "FORGE=none", "FAIL_ON=poolsChanged>0"); got.code != 0 || !strings.Contains(got.stdout, "No difference: all of pools is as it was.") || r.watched["nodepools"] {
		t.Errorf("exit code %d, programs %v:\n%s%s", got.code, r.watched, got.stdout, got.stderr)
	}

	// Main went on meanwhile, which is nothing that this change does.
	r.git(t, "checkout", "--quiet", "--force", "main")
	r.commit(t, "pools/gpu.yaml", gpuPool("silver"))
	r.git(t, "update-ref", "refs/remotes/origin/main", "main")
	r.git(t, "checkout", "--quiet", "change")
	changed("changed=false")
	r.commit(t, "pools/gpu.yaml", gpuPool("gold"))
	changed("changed=true")

	// Two commits that it could have branched off.
	r.git(t, "checkout", "--quiet", "-b", "one", "change~1")
	first := strings.TrimSpace(r.git(t, "rev-parse", "HEAD"))
	main := strings.TrimSpace(r.git(t, "rev-parse", "main"))
	tree := strings.TrimSpace(r.git(t, "rev-parse", "HEAD^{tree}"))
	a := strings.TrimSpace(r.git(t, "commit-tree", "-m", "a", "-p", first, "-p", main, tree))
	b := strings.TrimSpace(r.git(t, "commit-tree", "-m", "b", "-p", main, "-p", first, tree))
	r.git(t, "update-ref", "refs/remotes/origin/main", a)
	r.git(t, "reset", "--quiet", "--hard", b)
	changed("changed=false")

	// Main has moved a file to the pools, and the change edits it where it was: so does git.
	r.git(t, "checkout", "--quiet", "--orphan", "before")
	r.git(t, "rm", "--quiet", "-r", "--force", ".")
	r.commit(t, "drafts/wall.yaml", gpuPool("bronze"))
	r.commit(t, "pools/other.yaml", strings.Replace(gpuPool("bronze"), "name: gpu", "name: other", 1))
	r.git(t, "checkout", "--quiet", "-B", "main")
	r.git(t, "mv", "drafts/wall.yaml", "pools/wall.yaml")
	r.git(t, "commit", "--quiet", "--message", "promoted")
	r.git(t, "update-ref", "refs/remotes/origin/main", "main")
	r.git(t, "checkout", "--quiet", "before")
	r.commit(t, "drafts/wall.yaml", gpuPool("bronze", "example.com/drained"))
	changed("changed=true")
	r.run(t, "FAIL_ON=evictions>0").ends(t, 3, "evictions: 3, and the limit is 0\n")

	// The change began before there were pools, and leaves them as they are.
	r.git(t, "checkout", "--quiet", "--orphan", "early")
	r.git(t, "rm", "--quiet", "-r", "--force", ".")
	r.commit(t, "README.md", "first")
	r.git(t, "checkout", "--quiet", "-B", "late")
	r.commit(t, "pools/gpu.yaml", gpuPool("bronze"))
	r.git(t, "update-ref", "refs/remotes/origin/main", "late")
	r.git(t, "checkout", "--quiet", "early")
	r.commit(t, "README.md", "second")
	changed("changed=false")
	r.run(t, "INVENTORY_REV=refs/heads/gone refs/heads/inventory").ends(t, 0)

	// A link to the folder is not the folder.
	if err := os.Symlink("pools", filepath.Join(r.folder, "linked")); err != nil {
		t.Fatal(err)
	}
	r.commit(t, "README.md", "third")
	changed("changed=true", "POOLS=linked")
	r.run(t, "POOLS=linked").ends(t, 2, "there is no linked after the merge")
	r.git(t, "checkout", "--quiet", "before")
	r.git(t, "update-ref", "refs/remotes/origin/main", "main")

	// How git merges is not for the change to say.
	r.git(t, "checkout", "--quiet", "-B", "other", "main~1")
	r.write(t, ".gitattributes", "*.yaml merge=union\n")
	r.commit(t, "pools/other.yaml", strings.Replace(gpuPool("silver"), "name: gpu", "name: other", 1))
	r.git(t, "checkout", "--quiet", "main")
	r.commit(t, "pools/other.yaml", strings.Replace(gpuPool("gold"), "name: gpu", "name: other", 1))
	r.git(t, "update-ref", "refs/remotes/origin/main", "main")
	r.git(t, "checkout", "--quiet", "other")
	r.run(t).ends(t, 2, "merge it into the branch and solve the conflicts")
}

// A workflow whose check can be required runs for every pull request, and the secret of
// the cluster is out of reach of one that brings a workflow of its own.
func TestWorkflowsAreGuarded(t *testing.T) {
	texts := map[string]string{}
	var err error
	for _, name := range []string{"github-actions.yaml", "github-inventory.yaml", "gitlab-ci.yaml", "README.md", "review.sh", "inventory.sh"} {
		text, failed := os.ReadFile(filepath.Join(recipeFolder, name))
		err = errors.Join(err, failed)
		texts[name] = string(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range []struct {
		reason, file, text string
		want               bool
	}{
		{"GitHub compares the first 300 files", "github-actions.yaml", "\n    paths:", false},
		{"a check that does not run is not red", "gitlab-ci.yaml", "\n      changes:", false},
		{"the secret is one of an environment", "github-inventory.yaml", "\n    environment: inventory\n", true},
		{"the workflow runs by hand on every branch", "github-inventory.yaml", "\n    if: github.event_name == 'schedule' || github.ref == format('refs/heads/{0}', github.event.repository.default_branch)\n", true},
		{"what remains is said", "README.md", "deployment branches", true},
		{"a tag may have the name", "github-actions.yaml", "_REV: origin/", false},
		{"a tag may have the name", "github-actions.yaml", "BASE: origin/", false},
		{"a tag may have the name", "gitlab-ci.yaml", "_REV: origin/", false},
		{"a tag may have the name", "README.md", "`origin/", false},
	} {
		if strings.Contains(texts[check.file], check.text) != check.want {
			t.Errorf("%s: %q is in %s: %v, want %v", check.reason, check.text, check.file, !check.want, check.want)
		}
	}
}
