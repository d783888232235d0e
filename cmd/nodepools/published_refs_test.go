package main

import (
	"regexp"
	"testing"

	"github.com/spf13/cobra"
)

var (
	// What a command compares, or a setting of a recipe has compared.
	publishedRef = regexp.MustCompile(`(?:--(?:base|head|revision)[ =]|\b(?:BASE|INVENTORY_REV): )([\w$/.~^{…-]+)`)
	// What stands for one thing: a full name, HEAD, a hash; or what readers put in.
	fullRef = regexp.MustCompile(`^(?:refs/.+|HEAD|[0-9a-f]{40}|REV|…|\$.+)$`)
)

// Whoever copies a command that we publish must not compare with a tag that somebody has
// pushed: a short name is one where the clone lacks the branch of that name.
func TestPublishedCommandsNameRefsInFull(t *testing.T) {
	texts := pagesAndRecipes(t)
	var help func(*cobra.Command)
	help = func(cmd *cobra.Command) {
		texts["help of "+cmd.Name()] = cmd.Example
		for _, each := range cmd.Commands() {
			help(each)
		}
	}
	help(newRoot("nodepools", streams{}))

	found := map[string]int{}
	for file, text := range texts {
		for _, match := range publishedRef.FindAllStringSubmatch(text, -1) {
			name := match[1]
			if found[file]++; !fullRef.MatchString(name) {
				t.Errorf("%s compares with %s, which may be a tag: %q", file, name, match[0])
			}
		}
	}
	for file, want := range map[string]int{
		"README.md": 2, "README.zh-CN.md": 2, "docs/diff.md": 8, "examples/layers/README.md": 4, "help of diff": 4, "help of inventory": 1,
		recipeFolder + "/github-actions.yaml": 4, recipeFolder + "/gitlab-ci.yaml": 1,
	} {
		if found[file] < want {
			t.Errorf("%s has %d names of revisions, and %d were known: the test does not find them", file, found[file], want)
		}
	}
}
