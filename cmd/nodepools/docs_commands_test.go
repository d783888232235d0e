package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/testdata/docs"
)

var (
	makeTarget = regexp.MustCompile(`(?m)^([a-z][a-z -]*):`)
	makeCall   = regexp.MustCompile(`(?:^|\s)make ([a-z][a-z-]*)`)
)

// inReality is the reason of what needs a private repository.
const inReality = "would need a source of https; `TestGitCredentialsOfFluxAndArgoCD` follows one with the three commands"

// nothingWaits is the reason of what a reader does when something waits.
const nothingWaits = "fails where nothing waits for it; `TestClusterScripts/acts` and `TestStatusInACluster` run such commands"

// ofStranded is the reason of what needs a pod that a change has stranded.
const ofStranded = "needs a scheduler and a pod that a change has stranded; `TestStrandedPodsStayPending` has both"

// notRun are the commands of the documentation that TestDocumentedCommandsRun does not
// run, each with the reason, or with the test that runs it.
var notRun = map[string]string{
	"nodepools approve gpu":             nothingWaits,
	"nodepools approve source/platform": nothingWaits,
	"nodepools resume gpu":              nothingWaits,
	"nodepools expedite gpu":            nothingWaits,
	`kubectl patch nodepoolsources.nodes.lailin.xyz platform --type merge -p '{"spec": {"secretRef": {"name": "flux-system"}}}'`:                                                              inReality,
	`kubectl patch nodepoolsources.nodes.lailin.xyz platform --type merge -p '{"spec": {"secretRef": {"name": "platform-repo"}}}'`:                                                            inReality,
	`kubectl patch nodepoolsources.nodes.lailin.xyz platform --type merge -p '{"spec": {"url": "https://dev.azure.com/acme/platform/_git/node-pools", "provider": "azure"}}'`:                 "would send the source elsewhere; `TestGitTokens` follows one of Azure DevOps",
	`kubectl patch nodepoolsources.nodes.lailin.xyz platform --type merge -p '{"spec": {"url": "https://git-codecommit.eu-central-1.amazonaws.com/v1/repos/node-pools", "provider": "aws"}}'`: "would send the source elsewhere; `TestGitTokens` follows one of CodeCommit",
	`kubectl patch nodepoolsources.nodes.lailin.xyz platform --type merge -p '{"spec": {"proxySecretRef": {"name": "proxy"}}}'`:                                                               "would need a source of https; `TestGitRepositoryBehindAProxy` follows one with a proxy",
	`printf push | curl -d @- -H "X-Signature: sha256=$(printf push | openssl dgst -sha256 -hmac "$TOKEN" | sed 's/.* //')" "$URL"`:                                                           "takes a controller that listens, curl and openssl; `TestEveryReplicaReceivesWebhooks` sends the same",
	"kubectl apply --server-side -f bin/bundle/apply-first.yaml":                                                                                                                              "needs what make bundle has written; `TestAPIServerTakesTheBundle` applies it",
	"git checkout v1.2.3":                                                    "there is no such release; `TestImageIsTheSameAnywhere` builds the image a second time",
	"GOTOOLCHAIN=go1.26.8 make image VERSION=v1.2.3":                         "there is no such release; `TestImageIsTheSameAnywhere` builds the image a second time",
	"oras discover --platform linux/amd64 registry.example.com/nodepools:v1": "needs oras; `TestPushedImageIsWhatWasBuilt` asks the registry for what refers to the image",
	"kubectl -n nodepools-system logs deployment/nodepools --tail=20":        "a test cluster runs no containers",
	"kubectl -n nodepools-system get lease nodepools -o yaml":                "no instance runs there; `TestClusterScripts/run` reads the lease of one",
	"helm install nodepools charts/nodepools --namespace nodepools-system --create-namespace --set image.repository=registry.example.com/nodepools,image.tag=v1": "needs helm; `TestChartInACluster` installs the chart",
	`kubectl get pod train-0 --namespace team -o jsonpath='{.spec.nodeSelector}{"\n"}{.spec.tolerations}{"\n"}'`:                                                 ofStranded,
	`kubectl get runtimeclass node-pool-gpu -o jsonpath='{.scheduling}{"\n"}'`:                                                                                   ofStranded,
	"kubectl delete --namespace team pod/train-0":                                                                                                                ofStranded,
	`kubectl patch job train --namespace team --type merge --patch '{"spec":{"suspend":true}}'`:                                                                  ofStranded,
	"kubectl wait job train --namespace team --for condition=Suspended":                                                                                          ofStranded,
	`kubectl patch job train --namespace team --type merge --patch '{"spec":{"suspend":false}}'`:                                                                 ofStranded,
	"nodepools doctor":      "exits with 1 where no controller runs; `TestDoctorInACluster` runs it",
	"nodepools run":         "does not end by itself; `TestClusterScripts/run` runs it",
	uninstalls + "annotate": "`TestUninstall` runs it",
	uninstalls + "sources":  "`TestUninstall` runs it",
	uninstalls + "pools":    "`TestUninstall` runs it",
	uninstalls + "viewer":   "`TestUninstall` runs it",
	uninstalls + "all":      "`TestUninstall` runs it",
	uninstalls + "lease":    "`TestUninstall` runs it",
}

// The commands of uninstalling are those of one block, and known by it.
const uninstalls = "uninstall: "

// uninstalling returns the commands of the section about that, and their keys in
// notRun.
func uninstalling(t *testing.T) map[string]string {
	t.Helper()
	keys := []string{"annotate", "sources", "pools", "viewer", "all", "lease"}
	page := docs.Page{Text: docs.Cut(t, "\n## Uninstall\n", "\n```\n") + "\n```\n"}
	commands := map[string]string{}
	for _, block := range page.Content().Blocks {
		for i, command := range block.Commands() {
			commands[command] = uninstalls + keys[i]
		}
	}
	return commands
}

// documentedCommands returns the commands of a page that a reader would copy, block by
// block.
func documentedCommands(page docs.Page) [][]string {
	var blocks [][]string
	for _, block := range page.Content().Blocks {
		if commands := block.Commands(); len(commands) > 0 {
			blocks = append(blocks, commands)
		}
	}
	return blocks
}

// Every command line of nodepools in the documentation is one that the program takes,
// and every target of make is in the Makefile: those of blocks, and those within a line.
func TestDocumentedCommandsParse(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(docs.Root(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, match := range makeTarget.FindAllSubmatch(makefile, -1) {
		targets = append(targets, strings.Fields(string(match[1]))...)
	}
	commands, spans, calls := 0, 0, 0
	for _, page := range docs.All(t) {
		content := page.Content()
		var lines []string
		for _, block := range content.Blocks {
			lines = append(lines, block.Commands()...)
		}
		for _, line := range lines {
			for _, args := range calledArgs(line) {
				commands++
				if err := takes(args); err != nil {
					t.Errorf("%s: %s: %v", page.Path, line, err)
				}
			}
		}
		for _, span := range content.Spans {
			if words := strings.Fields(span); len(words) > 1 && words[0] == "nodepools" {
				spans++
				if err := names(words[1:]); err != nil {
					t.Errorf("%s: %s: %v", page.Path, span, err)
				}
			}
		}
		for _, text := range append(lines, content.Spans...) {
			for _, match := range makeCall.FindAllStringSubmatch(text, -1) {
				calls++
				if !slices.Contains(targets, match[1]) {
					t.Errorf("%s: %s: the Makefile has no target %s", page.Path, text, match[1])
				}
			}
		}
	}
	if commands < 30 || spans < 30 || calls < 20 {
		t.Errorf("%d commands, %d within a line and %d of make were found: the test does not find what there is", commands, spans, calls)
	}
}

// calledArgs returns the arguments of each call of nodepools in a line of shell.
func calledArgs(line string) [][]string {
	var calls [][]string
	for part := range strings.SplitSeq(line, " | ") {
		words := strings.Fields(strings.NewReplacer("'", "", `"`, "").Replace(part))
		if len(words) > 0 && words[0] == "kubectl" {
			words = words[1:]
		}
		if len(words) > 0 && (words[0] == "nodepools" || words[0] == "bin/nodepools") {
			calls = append(calls, words[1:])
		}
	}
	return calls
}

// takes reports why the program would refuse a command line as wrong; nil where it
// would not.
func takes(args []string) error {
	cmd, rest, err := newRoot("nodepools", streams{out: io.Discard, err: io.Discard}).Find(args)
	if err != nil {
		return err
	}
	if cmd.HasSubCommands() {
		return fmt.Errorf("%s does nothing with %q", cmd.CommandPath(), rest)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// names reports which command or flag of a mention does not exist. A mention need not
// be complete.
func names(words []string) error {
	root := newRoot("nodepools", streams{out: io.Discard, err: io.Discard})
	root.InitDefaultCompletionCmd(words...)
	cmd, _, err := root.Find(words)
	if err != nil {
		return err
	}
	if !cmd.HasParent() && !strings.HasPrefix(words[0], "-") {
		return fmt.Errorf("there is no command %q", words[0])
	}
	cmd.InitDefaultHelpFlag()
	for _, word := range words {
		name, _, _ := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(name, "--") && cmd.Flags().Lookup(name[2:]) == nil,
			len(name) == 2 && name[0] == '-' && cmd.Flags().ShorthandLookup(name[1:]) == nil:
			return fmt.Errorf("%s has no flag %s", cmd.CommandPath(), name)
		}
	}
	return nil
}

// What the parsing would accept wrongly would hold nothing.
func TestDocumentedCommandsThatDoNotParse(t *testing.T) {
	for reason, line := range map[string]string{
		"no such command":       "nodepools difff pools/",
		"no such flag":          "make build && true | bin/nodepools install --images x",
		"no argument":           "nodepools validate",
		"a flag without value":  "kubectl nodepools render pools/ --nodes",
		"another command's":     "nodepools validate pools/ --merge-base",
		"an argument too many":  "nodepools inventory pools/",
		"no such shorthand":     "nodepools diff pools/ -x json",
		"no such command below": "nodepools explain pool gpu",
	} {
		calls := calledArgs(line)
		if len(calls) != 1 || takes(calls[0]) == nil {
			t.Errorf("%s: %q is taken (%q)", reason, line, calls)
		}
	}
	for _, mention := range []string{"difff", "diff --bases", "validate -x", "--versions"} {
		if names(strings.Fields(mention)) == nil {
			t.Errorf("%q is taken", mention)
		}
	}
}
