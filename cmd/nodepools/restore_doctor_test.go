package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/nodepools/nodepools/apply/doctor"
	"github.com/nodepools/nodepools/testdata/docs"
)

// section runs the commands of a section of the page: all, or those of its blocks.
func (r *restoration) section(title string, blocks ...int) {
	r.t.Helper()
	_, rest, found := strings.Cut(r.page, "\n## "+title+"\n")
	if !found {
		r.t.Fatalf("the page has no section %q", title)
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	commands := documentedCommands(docs.Page{Text: text})
	if len(commands) == 0 {
		r.t.Fatalf("the section %q has no command", title)
	}
	for i, block := range commands {
		if len(blocks) > 0 && !slices.Contains(blocks, i) {
			continue
		}
		for _, command := range block {
			r.command(command)
		}
	}
}

// command runs a command of the page, and has the Deployment do what it is told.
func (r *restoration) command(command string) {
	r.t.Helper()
	output := r.shell(command)
	if strings.Contains(command, "nodepools diff") && !strings.Contains(output, "second") {
		r.t.Errorf("%s does not show what will be done:\n%s", command, output)
	}
	r.ran++
	if strings.Contains(command, "--replicas 2") {
		r.start()
	}
}

// shell runs a command as an administrator does. The one of diff may end with the code of a
// difference.
func (r *restoration) shell(command string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "sh", "-e", "-c", command)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.c.Kubeconfig(), "KUBERC=off",
		"PATH="+filepath.Dir(r.c.Program("kubectl"))+string(os.PathListSeparator)+os.Getenv("PATH"))
	output, err := cmd.CombinedOutput()
	differs := strings.Contains(command, "nodepools diff") && cmd.ProcessState.ExitCode() == exitFailed
	if err != nil && !differs {
		r.t.Fatalf("%s: %v\n%s", command, err, output)
	}
	return string(output)
}

// nodeVersions are the resource versions of all nodes.
func (r *restoration) nodeVersions() map[string]string {
	r.t.Helper()
	var nodes corev1.NodeList
	r.do(r.List(r.t.Context(), &nodes))
	versions := map[string]string{}
	for _, node := range nodes.Items {
		versions[node.Name] = node.ResourceVersion
	}
	return versions
}

// unwritten calls do, and fails the test where a node was written meanwhile.
func (r *restoration) unwritten(do func()) {
	r.t.Helper()
	before := r.nodeVersions()
	do()
	if after := r.nodeVersions(); !maps.Equal(before, after) {
		r.t.Errorf("nodes were written: %v is now %v", before, after)
	}
}

// doctor waits until doctor prints what the page shows of it. With -update the page is
// written anew, when the output has settled.
func (r *restoration) doctor(name string) {
	r.t.Helper()
	const begin, end = "\n```\n$ nodepools doctor\n", "```\n"
	before, rest, found := strings.Cut(r.page, "<!-- doctor: "+name+" -->\n")
	if !found {
		r.t.Fatalf("the page has no place for what doctor prints of %q", name)
	}
	rest, shows := strings.CutPrefix(rest, begin)
	shown := ""
	if shows {
		shown, rest, _ = strings.Cut(rest, end)
	}
	if *update {
		shown = r.settled()
		r.page = before + "<!-- doctor: " + name + " -->\n" + begin + shown + end + rest
		r.do(os.WriteFile(filepath.Join(docs.Root(r.t), "docs", "restore.md"), []byte(r.page), 0o600))
		return
	}
	r.until("doctor prints what the page shows of "+name, func() error {
		if printed := r.diagnosis(); printed != shown {
			return fmt.Errorf("-page +doctor; -update writes the page anew:\n%s", cmp.Diff(shown, printed))
		}
		return nil
	})
}

// settled is what doctor prints five times in a row, a second apart.
func (r *restoration) settled() (printed string) {
	r.t.Helper()
	same, last := 0, time.Time{}
	r.until("the output of doctor settles", func() error {
		if time.Since(last) < time.Second {
			return fmt.Errorf("the same %d times", same)
		}
		last = time.Now()
		if now := r.diagnosis(); now != printed {
			printed, same = now, 0
		}
		if same++; same < 5 {
			return fmt.Errorf("the same %d times", same)
		}
		return nil
	})
	return printed
}

// diagnosis is what doctor prints, without what differs from one run to the next, and without
// the neighbours.
func (r *restoration) diagnosis() string {
	r.t.Helper()
	report, _, _ := examined(r.t, r.c.Kubeconfig())
	report.Cluster = withoutChance(report.Cluster)
	report.Findings = slices.DeleteFunc(report.Findings, func(f doctor.Finding) bool {
		return slices.ContainsFunc(neighbours(), func(crd *apiextensionsv1.CustomResourceDefinition) bool { return crd.Name == f.Object })
	})
	for i := range report.Findings {
		report.Findings[i].Message = withoutChance(report.Findings[i].Message)
		report.Findings[i].Action = withoutChance(report.Findings[i].Action)
	}
	var text strings.Builder
	r.do(report.WriteText(&text))
	return text.String()
}

// withoutChance replaces what differs from one run to the next: the address of the API
// server, who holds the lease, ages, UIDs and revisions.
func withoutChance(text string) string {
	for of, by := range map[*regexp.Regexp]string{
		regexp.MustCompile(`https://127\.0\.0\.1:\d+`):                    "https://cluster.example.com",
		regexp.MustCompile(`held by \S+`):                                 "held by nodepools-7d4b9c",
		regexp.MustCompile(`renewed last \S+ ago, by [^\s:]+`):            "renewed last 12m0s ago, by nodepools-7d4b9c",
		regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`): "<uid>",
		regexp.MustCompile(`main@sha1:[0-9a-f]{40}`):                      "main@sha1:6d0c4c1f2b6a2e3c4d5e6f708192a3b4c5d6e7f8",
	} {
		text = of.ReplaceAllString(text, by)
	}
	return text
}
