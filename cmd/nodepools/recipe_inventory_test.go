package main

import (
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/apply/preview/inventory"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// The nightly job writes down a real cluster, and pushes it with a token to a
// branch of one commit.
func TestInventoryRecipe(t *testing.T) {
	c := cluster.Shared(t)
	if err := reset(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(recipeFolder + "/inventory.sh")
	if err != nil {
		t.Fatal(err)
	}
	r := newRecipe(t, &forge{})
	server, repository := startGitServer(t, "oauth2", forgeToken)
	speaksToServer := regexp.MustCompile(`^git (ls-remote|fetch|push) `) // nobody else has to see the token
	night := func(env ...string) (string, error) {
		cmd := exec.Command("sh", script)
		cmd.Dir, cmd.Env = r.folder, r.environment(append([]string{
			"KUBECONFIG=" + c.Kubeconfig(), "REMOTE=" + server,
			"NODEPOOLS_PUSH_TOKEN=" + forgeToken, "NODEPOOLS_REVIEW_TOKEN=" + forgeToken, "token=",
		}, env...)...)
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), forgeToken) {
			t.Errorf("the token is printed:\n%s", out)
		}
		for _, call := range r.called(t) {
			line, _, _ := strings.Cut(call, "\n")
			if strings.Contains(line, forgeToken) || strings.Contains(call, forgeToken) && !speaksToServer.MatchString(line) {
				t.Errorf("the token is in what a program sees:\n%s", call)
			}
		}
		return string(out), err
	}
	for _, node := range []string{"gpu-1", "gpu-2"} {
		r.write(t, "node.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: "+node+"}\n")
		if out, err := c.Kubectl(t.Context(), "create", "-f", filepath.Join(r.folder, "node.yaml")); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if out, err := night("PUSH_TOKEN=" + forgeToken); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	fetch := func(branch string) {
		t.Helper()
		r.git(t, "-c", "http.extraHeader="+basicAuthorization("oauth2", forgeToken), "fetch", "--quiet", server, "+"+branch+":refs/remotes/origin/"+branch)
	}
	fetch("inventory")
	written, err := inventory.Read(strings.NewReader(r.git(t, "show", "origin/inventory:inventory.json")))
	if err != nil {
		t.Fatal(err)
	}
	if len(written.Nodes) != 2 {
		t.Errorf("the inventory has %d nodes", len(written.Nodes))
	}
	if commits := r.git(t, "rev-list", "--count", "origin/inventory"); commits != "1\n" {
		t.Errorf("the branch has %s commits", commits)
	}
	// An inventory may be in a folder, as those that review.sh reads.
	if out, err := night("PUSH_TOKEN="+forgeToken, "INVENTORY=clusters/production.json", "BRANCH=inventory-production"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	fetch("inventory-production")
	if files := r.git(t, "ls-tree", "-r", "--name-only", "origin/inventory-production"); files != "clusters/production.json\n" {
		t.Errorf("the branch has the files %q", files)
	}

	// What another cluster, or a person, has in a branch is never replaced; not
	// when it comes between the look and the push either.
	out, err := night("PUSH_TOKEN="+forgeToken, "INVENTORY=clusters/production.json")
	if err == nil || !strings.Contains(out, "the branch inventory has other files than clusters/production.json") {
		t.Errorf("the inventory of another cluster is replaced: %v\n%s", err, out)
	}
	if out, err := night("PUSH_TOKEN="+forgeToken, "BRANCH=raced", "BEFORE_PUSH=(unset PUSH_TOKEN; git -C '"+repository+"' update-ref refs/heads/raced refs/heads/inventory-production)"); err == nil {
		t.Errorf("what was pushed a moment ago is replaced:\n%s", out)
	}
	for branch, want := range map[string]string{"inventory": "inventory.json\n", "inventory-production": "clusters/production.json\n", "raced": "clusters/production.json\n"} {
		fetch(branch)
		if files := r.git(t, "ls-tree", "-r", "--name-only", "origin/"+branch); files != want {
			t.Errorf("the branch %s has the files %q", branch, files)
		}
	}

	// A branch whose name ends as that of the inventory does is another one.
	r.git(t, "-C", repository, "update-ref", "refs/heads/a/refs/heads/inventory", "refs/heads/inventory-production")
	if out, err := night("PUSH_TOKEN=" + forgeToken); err != nil {
		t.Errorf("a branch of another name stops the inventory: %v\n%s", err, out)
	}
	if out, err := night("PUSH_TOKEN="+forgeToken, "BRANCH=a..b"); err == nil || !strings.Contains(out, "BRANCH is a..b, which is no name of a branch") {
		t.Errorf("a..b is taken for a branch: %v\n%s", err, out)
	}

	if out, err := night("PUSH_TOKEN=expired"); err == nil {
		t.Errorf("a wrong token pushes:\n%s", out)
	}
	if out, err := night("PUSH_TOKEN="+forgeToken, "KUBECONFIG=/nowhere"); err == nil {
		t.Errorf("without a cluster there is an inventory:\n%s", out)
	}
	if !r.watched["git"] || !r.watched["nodepools"] {
		t.Errorf("only %v are seen to be called", r.watched)
	}
}

// startGitServer serves an empty repository to one user, and returns its URL and
// its folder.
func startGitServer(t *testing.T, user, password string) (url, repository string) {
	t.Helper()
	folder := t.TempDir()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	repository = filepath.Join(folder, "pools.git")
	for _, args := range [][]string{{"init", "--quiet", "--bare", repository}, {"-C", repository, "config", "http.receivepack", "true"}} {
		cmd := exec.Command(git, args...)
		// GIT_DIR is set where a hook or a rebase runs the tests: what is configured
		// here would be so in the repository of whoever runs them.
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	backend := &cgi.Handler{Path: git, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + folder, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "REMOTE_USER=" + user}, Stderr: io.Discard}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, given, _ := r.BasicAuth(); name != user || given != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/pools.git", repository
}

// basicAuthorization is the header with which a user shows who he is.
func basicAuthorization(user, password string) string {
	request := &http.Request{Header: http.Header{}}
	request.SetBasicAuth(user, password)
	return "Authorization: " + request.Header.Get("Authorization")
}
