package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/testdata/docs"
)

const recipeFolder = "../../examples/ci"

var (
	// A command of ours in a script, a job or a text, up to where its flags end.
	calledCommand = regexp.MustCompile("nodepools ((?:diff|inventory|install|validate)[^'`|>&;\\n]*)")
	// What review.sh adds to the arguments of diff.
	addedFlags = regexp.MustCompile(`(?m)^\s+set -- (.*--.*)$`)
	flagInText = regexp.MustCompile(`(^|\s)--?[a-z][-a-z]*`)
)

// Each command that the recipes and the documentation name exists, with all of its
// flags.
func TestRecipesCallWhatThereIs(t *testing.T) {
	found := map[string]bool{}
	texts := pagesAndRecipes(t)
	for file, text := range texts {
		var commands []string
		for _, match := range calledCommand.FindAllStringSubmatch(text, -1) {
			commands = append(commands, match[1])
		}
		for _, match := range addedFlags.FindAllStringSubmatch(text, -1) {
			commands = append(commands, "diff "+match[1])
		}
		for _, command := range commands {
			name := strings.Fields(command)[0]
			cmd, _, err := newRoot("nodepools", streams{}).Find([]string{name})
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			found[name] = true
			for _, flag := range flagInText.FindAllString(command, -1) {
				switch flag = strings.TrimSpace(flag); {
				case flag == "--help":
				case strings.HasPrefix(flag, "--") && cmd.Flags().Lookup(flag[2:]) == nil, len(flag) == 2 && cmd.Flags().ShorthandLookup(flag[1:]) == nil:
					t.Errorf("%s: nodepools %s has no flag %s", file, name, flag)
				default:
					found[name+" "+flag] = true
				}
			}
		}
	}
	for _, want := range []string{"validate -o", "diff --base", "diff --merge-base", "diff --path", "diff --inventory", "diff --fail-on", "diff --source", "inventory --output-file", "install --viewer"} {
		if !found[want] {
			t.Errorf("no recipe has nodepools %s, or the test does not find it", want)
		}
	}
}

// Each workflow is YAML, and what it runs is shell.
func TestRecipesAreWellFormed(t *testing.T) {
	scripts := 0
	for _, file := range recipeFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		switch filepath.Ext(file) {
		case ".sh":
			scripts++
			checkShell(t, file, string(text))
		case ".yaml":
			var document any
			if err := yaml.UnmarshalStrict(text, &document); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			for _, script := range scriptsIn(document) {
				scripts++
				checkShell(t, file, script)
			}
		}
	}
	if scripts < 10 {
		t.Errorf("there are %d scripts in the recipes; some are not found", scripts)
	}
}

// A workflow pins what it runs by commit, says which rights it has, and never runs
// a pull request with secrets.
func TestWorkflowsAreCareful(t *testing.T) {
	files, err := filepath.Glob(recipeFolder + "/github-*.yaml")
	if err != nil || len(files) != 2 {
		t.Fatalf("workflows %q, %v", files, err)
	}
	pinned := regexp.MustCompile(`^[\w.-]+/[\w.-]+@[0-9a-f]{40}$`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var workflow struct {
			// YAML 1.1 reads the key on as the boolean true.
			On          map[string]any    `json:"true"`
			Permissions map[string]string `json:"permissions"`
			Jobs        map[string]struct {
				Permissions map[string]string `json:"permissions"`
				Steps       []struct {
					Uses string            `json:"uses"`
					Run  string            `json:"run"`
					Env  map[string]string `json:"env"`
				} `json:"steps"`
			} `json:"jobs"`
		}
		if err := yaml.Unmarshal(text, &workflow); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		_, ofPullRequests := workflow.On["pull_request"]
		if _, danger := workflow.On["pull_request_target"]; danger || len(workflow.On) == 0 {
			t.Errorf("%s: it runs on %v", file, workflow.On)
		}
		if workflow.Permissions == nil || len(workflow.Permissions) > 0 {
			t.Errorf("%s: all jobs have %v", file, workflow.Permissions)
		}
		for name, job := range workflow.Jobs {
			if len(job.Permissions) == 0 || ofPullRequests && job.Permissions["contents"] != "read" {
				t.Errorf("%s: job %s has %v", file, name, job.Permissions)
			}
			for _, step := range job.Steps {
				if step.Uses != "" && !pinned.MatchString(step.Uses) {
					t.Errorf("%s: %s is not pinned", file, step.Uses)
				}
				if strings.Contains(step.Run, "${{") {
					t.Errorf("%s: text from outside becomes part of a script:\n%s", file, step.Run)
				}
				for key, value := range step.Env {
					if ofPullRequests && strings.Contains(value, "secrets.") {
						t.Errorf("%s: a run of a pull request has the secret %s", file, key)
					}
				}
			}
		}
	}
}

// What the README says to set for each cluster is what the scripts read, and has all
// that two clusters would take from one another.
func TestRecipesShowWhatIsPerCluster(t *testing.T) {
	var settings string
	for _, script := range []string{"review.sh", "inventory.sh"} {
		text, err := os.ReadFile(filepath.Join(recipeFolder, script))
		if err != nil {
			t.Fatal(err)
		}
		settings += string(text)
	}
	text, err := os.ReadFile(filepath.Join(recipeFolder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Several clusters\n")
	reported := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[A-Z_`, ]+`) \\|").FindAllStringSubmatch(section, -1) {
		for _, name := range strings.Split(row[1], ", ") {
			name = strings.Trim(name, "`")
			reported[name] = true
			if name != "KUBECONFIG" && !regexp.MustCompile("(?m)^#   "+name+" ").MatchString(settings) {
				t.Errorf("no script has the setting %s", name)
			}
		}
	}
	for _, name := range []string{"BRANCH", "INVENTORY_REV", "POOLS", "SOURCE", "MARKER", "CODE_QUALITY", "KUBECONFIG"} {
		if !reported[name] {
			t.Errorf("the README does not say that %s is for each cluster", name)
		}
	}
}

// The job on GitLab has the inventories of all clusters, whose branches its clone
// lacks.
func TestWorkflowFetchesInventories(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(recipeFolder + "/gitlab-ci.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var jobs map[string]struct {
		Before    []string          `json:"before_script"`
		Script    []string          `json:"script"`
		Variables map[string]string `json:"variables"`
	}
	if err := yaml.Unmarshal(text, &jobs); err != nil {
		t.Fatal(err)
	}
	r := newRecipe(t, &forge{})
	r.git(t, "remote", "add", "origin", ".")
	r.git(t, "branch", "inventory-production", "inventory")
	r.git(t, "update-ref", "-d", "refs/remotes/origin/inventory")
	for _, line := range jobs["node-pools"].Script {
		if strings.HasPrefix(line, "git ") {
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir, cmd.Env = r.folder, r.environment()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		}
	}

	// The branch that a merge request goes into, also where its pipeline runs in a fork.
	if base := jobs["node-pools"].Variables["BASE"]; base != "refs/remotes/origin/$CI_MERGE_REQUEST_TARGET_BRANCH_NAME" {
		t.Errorf("the base is %q", base)
	}
	fetch := slices.DeleteFunc(jobs["node-pools"].Before, func(line string) bool { return !strings.Contains(line, "target") })
	began := strings.TrimSpace(r.git(t, "rev-parse", "main"))
	for name, from := range map[string]struct{ project, url, base string }{
		"in the project":          {"1", "nowhere", "refs/remotes/origin/main"},
		"in a fork":               {"2", r.folder + "/", "refs/remotes/origin/main"},
		"in one of a private one": {"2", r.folder + "/nowhere", began},
	} {
		r.git(t, "update-ref", "-d", "refs/remotes/origin/main")
		cmd := exec.Command("sh", "-ec", strings.Join(append(slices.Clone(fetch), `sh -c 'printf %s "$BASE"'`), "\n"))
		cmd.Dir, cmd.Env = r.folder, r.environment("BASE=refs/remotes/origin/main", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME=main",
			"CI_PROJECT_ID=1", "CI_MERGE_REQUEST_PROJECT_ID="+from.project, "CI_MERGE_REQUEST_PROJECT_URL="+from.url, "CI_MERGE_REQUEST_DIFF_BASE_SHA="+began)
		if out, err := cmd.Output(); err != nil || string(out) != from.base {
			t.Errorf("%s: %v, and the base is %q, want %q", name, err, out, from.base)
		}
		r.git(t, "cat-file", "-e", from.base+":pools")
	}
	for _, branch := range []string{"origin/inventory", "origin/inventory-production"} {
		r.git(t, "cat-file", "-e", branch+":inventory.json")
	}
}

// pagesAndRecipes are the texts of the documentation and of the recipes, by path.
func pagesAndRecipes(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, page := range docs.All(t) {
		texts[page.Path] = page.Text
	}
	for _, file := range recipeFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
	}
	return texts
}

func recipeFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(recipeFolder + "/*.*")
	if err != nil || len(files) < 6 {
		t.Fatalf("recipes %q, %v", files, err)
	}
	return files
}

// scriptsIn are the texts in a workflow that a shell runs.
func scriptsIn(document any) []string {
	var scripts []string
	switch value := document.(type) {
	case []any:
		for _, element := range value {
			scripts = append(scripts, scriptsIn(element)...)
		}
	case map[string]any:
		for key, element := range value {
			switch key {
			case "run":
				scripts = append(scripts, element.(string))
			case "script", "before_script":
				for _, line := range element.([]any) {
					scripts = append(scripts, line.(string))
				}
			default:
				scripts = append(scripts, scriptsIn(element)...)
			}
		}
	}
	return scripts
}

func checkShell(t *testing.T, file, script string) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	cmd := exec.Command("sh", "-n")
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v: %s\n%s", file, err, out, script)
	}
}
