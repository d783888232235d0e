package command

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestWord(t *testing.T) {
	for text, want := range map[string]string{
		"gpu": "gpu", "main@sha1:0a": "main@sha1:0a", "7/canary": "7/canary", "": "''", "-x": "'-x'", "=x": "'=x'",
		"a b": "'a b'", "$(id)": "'$(id)'", "it's": `'it'\''s'`, "a\nb": "'a\nb'",
	} {
		if got := Word(text); got != want {
			t.Errorf("%q is written %s, want %s", text, got, want)
		}
	}
}

func TestCommands(t *testing.T) {
	for got, want := range map[string]string{
		Annotate(Pools, "a/b", "it's", "gpu", "edge"): `kubectl annotate --overwrite nodepools.nodes.lailin.xyz gpu edge a/b='it'\''s'`,
		RemoveAnnotation(Sources, "a/b", "platform"):  "kubectl annotate nodepoolsources.nodes.lailin.xyz platform a/b-",
		EditPool("gpu"):                     "kubectl edit nodepools.nodes.lailin.xyz/gpu",
		DeletePods("team", "train-0", "-x"): "kubectl delete --namespace team pod/train-0 pod/-x",
	} {
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// Nothing that anybody reads, copies or runs names our resources by what neighbours have as
// well: not the code, not its tests, no page, no example, no chart, no alert.
func TestNoCommandNamesANeighboursResource(t *testing.T) {
	files := 0
	eachFile(t, func(path, text string) {
		files++
		for _, command := range unclear(text) {
			t.Errorf("%s: %q names no group: neighbours have that resource, too", path, command)
		}
	})
	if files < 500 {
		t.Errorf("%d files were read: the test does not find what there is", files)
	}
}

// No message spells a command about our objects by itself: that of [TestPrintedCommandsMeanOurs]
// would not run it. The demo runs what it prints.
func TestCommandsAreWrittenHere(t *testing.T) {
	written := regexp.MustCompile("kubectl[^\"`]*nodepool(source)?s\\.nodes\\.|kubectl (annotate|describe|edit|patch|delete|label|wait) (--[a-z-]+ )*[\"%]")
	eachFile(t, func(path, text string) {
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "cmd/demo/") || path == "api/command/command.go" || strings.HasPrefix(path, "testdata/") {
			return
		}
		for line := range strings.Lines(text) {
			if written.MatchString(line) {
				t.Errorf("%s: a command is spelled here, and not by package command: %s", path, line)
			}
		}
	})
}

// What the search would overlook would hold nothing.
func TestUnclearCommands(t *testing.T) {
	for text, want := range map[string]int{
		"kubectl get nodepools":                                                    1,
		"`kubectl -n here get nodepool,nodes`":                                     1,
		"kubectl get nodes,nps -o wide":                                            1,
		"kubectl annotate --overwrite nodepool\n    gpu a=b":                       1,
		"kubectl annotate --overwrite \\\n  np gpu a=b":                            1,
		`w.kubectl("annotate", "--overwrite", "nodepoolsource", "one"`:             1,
		"kubectl wait --for=condition=Ready nodepool/gpu":                          1,
		"kubectl wait --for=delete pods nodepool/gpu":                              1,
		"until kubectl auth can-i list nodepools --as viewer; do":                  1,
		"kubectl create clusterrole viewer --verb=list --resource=nodes,nodepools": 1,
		"kubectl get nodepools.nodes.lailin.xyz":                                   0,
		"kubectl describe nodepools.nodes.lailin.xyz/gpu":                          0,
		"kubectl nodepools status":                                                 0,
		"kubectl -n nodepools-system get deployment nodepools":                     0,
		"kubectl delete lease nodepools --ignore-not-found":                        0,
		"kubectl apply --server-side -f - and then nodepools status":               0,
		"kubectl get nodes\nexec nodepools status":                                 0,
		`"kubectl", "get", "lease", "--namespace", "here", "nodepools",`:           0,
	} {
		if got := unclear(text); len(got) != want {
			t.Errorf("%q: %q is found, want %d", text, got, want)
		}
	}
}

var (
	calls   = regexp.MustCompile(`kubectl[ ("\\\n]`)
	verbs   = regexp.MustCompile(`^(get|annotate|delete|edit|describe|patch|label|wait|explain|replace|create)$`)
	argued  = regexp.MustCompile(`^(-n|-f|-o|-p|-l|-L|--namespace|--kubeconfig|--context|--as|--selector|--subresource|--type)$`)
	inCode  = func(r rune) bool { return strings.ContainsRune("\"'`()\\ \n\t", r) }
	theirs  = regexp.MustCompile(`^(nodepools?|nodepoolsources?|npool|nps?)(/.*)?$`)
	longest = 300
)

// unclear returns the calls of kubectl in a text whose resource may be a neighbour's.
func unclear(text string) []string {
	var found []string
	for _, at := range calls.FindAllStringIndex(text, -1) {
		command := text[at[1]-1 : min(len(text), at[1]+longest)]
		if end := strings.IndexAny(command, "|;&<>#"); end >= 0 {
			command = command[:end]
		}
		var words []string
		for word := range strings.FieldsFuncSeq(command, inCode) {
			if word = strings.Trim(word, ".:"); word != "," {
				words = append(words, word)
			}
		}
		if slices.ContainsFunc(arguments(words), func(word string) bool {
			return slices.ContainsFunc(strings.Split(word, ","), theirs.MatchString)
		}) {
			found = append(found, strings.Join(words[:min(len(words), 6)], " "))
		}
	}
	return found
}

// arguments returns the resource of a command line, and what names an object with one.
func arguments(words []string) []string {
	var found []string
	verb := false
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case argued.MatchString(word):
			i++
		case strings.HasPrefix(word, "--resource="):
			found = append(found, strings.TrimPrefix(word, "--resource="))
		case strings.HasPrefix(word, "-"):
		case word == "auth" && !verb: // can-i, and the verb of the right
			i, verb = i+2, true
		case !verb && !verbs.MatchString(word):
			return nil
		case !verb:
			verb = true
		case len(found) == 0 || i < 6 && strings.Contains(word, "/"):
			found = append(found, word)
		}
	}
	return found
}

// eachFile calls read with each file of text of the repository, by its path in it.
func eachFile(t *testing.T, read func(path, text string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		switch {
		case entry.IsDir() && (name == "bin" || name == filepath.Join("testdata", "upgrades", "left") || strings.HasPrefix(entry.Name(), ".") && name != "." && entry.Name() != ".ci" && entry.Name() != ".github"):
			return filepath.SkipDir
		case entry.IsDir(), !entry.Type().IsRegular(), name == "CHANGELOG.md", name == filepath.Join("api", "command", "command_test.go"):
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(content[:min(len(content), 8000)]), "\x00") {
			return err
		}
		read(filepath.ToSlash(name), string(content))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
