package docs_test

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/testdata/docs"
)

// Every relative link leads to a file or a folder of the repository, and every fragment
// to a heading of the page.
func TestLinksLeadSomewhere(t *testing.T) {
	anchors := map[string][]string{}
	for _, page := range docs.All(t) {
		for _, heading := range page.Content().Headings {
			anchors[page.Path] = append(anchors[page.Path], heading.Anchor)
		}
	}
	relative, fragments := 0, 0
	for _, page := range docs.All(t) {
		for _, link := range page.Content().Links {
			to, err := url.Parse(link)
			if err != nil {
				t.Errorf("%s: %v", page.Path, err)
				continue
			}
			if to.Scheme != "" {
				if to.Scheme != "https" {
					t.Errorf("%s: %s is neither a relative link nor one with https", page.Path, link)
				}
				continue
			}
			target := page.Path
			if to.Path != "" {
				relative++
				target = path.Join(path.Dir(page.Path), to.Path)
				if _, err := os.Stat(filepath.Join(docs.Root(t), filepath.FromSlash(target))); err != nil {
					t.Errorf("%s: the link %s leads nowhere: %v", page.Path, link, err)
				}
			}
			if to.Fragment != "" {
				fragments++
				if !slices.Contains(anchors[target], to.Fragment) {
					t.Errorf("%s: the link %s leads to no heading of %s", page.Path, link, target)
				}
			}
		}
	}
	if relative < 100 || fragments < 30 {
		t.Errorf("%d relative links and %d fragments were found: the test does not find what there is", relative, fragments)
	}
}

// linkOfTheOther is the switch between the languages, in the third line of a README.
var linkOfTheOther = regexp.MustCompile(`\[[^]]+\]\(README(?:\.zh-CN)?\.md\)`)

// Both READMEs have the same commands and examples, headings of the same levels, the
// same tables and the same links: what is added to one is missed in the other.
func TestTranslationKeepsUp(t *testing.T) {
	english, chinese := docs.Read(t, "README.md"), docs.Read(t, "README.zh-CN.md")
	for page, other := range map[*docs.Page]string{&english: "README.zh-CN.md", &chinese: "README.md"} {
		if first, _, _ := strings.Cut(page.Text, "\n\n```"); !strings.Contains(linkOfTheOther.FindString(first), "("+other+")") {
			t.Errorf("%s does not begin with a link to %s", page.Path, other)
		}
		page.Text = linkOfTheOther.ReplaceAllString(page.Text, "")
	}
	of, translated := english.Content(), chinese.Content()
	if len(of.Blocks) < 8 || len(of.Headings) < 8 || len(of.Links) < 20 {
		t.Fatalf("%d blocks, %d headings, %d links: the test does not find what there is", len(of.Blocks), len(of.Headings), len(of.Links))
	}
	if diff := cmp.Diff(withoutComments(of.Blocks), withoutComments(translated.Blocks)); diff != "" {
		t.Errorf("the blocks differ (-README.md +README.zh-CN.md):\n%s", diff)
	}
	if diff := cmp.Diff(levels(of), levels(translated)); diff != "" {
		t.Errorf("the levels of the headings differ (-README.md +README.zh-CN.md):\n%s", diff)
	}
	if diff := cmp.Diff(rows(english), rows(chinese)); diff != "" {
		t.Errorf("the cells in the rows of the tables differ (-README.md +README.zh-CN.md):\n%s", diff)
	}
	// A sentence has another order in another language.
	slices.Sort(of.Links)
	slices.Sort(translated.Links)
	if diff := cmp.Diff(of.Links, translated.Links); diff != "" {
		t.Errorf("the links differ (-README.md +README.zh-CN.md):\n%s", diff)
	}
}

// comment is one of shell or YAML: what stands behind it may be translated.
var comment = regexp.MustCompile(`(?m)(^|\s+)# .*$`)

func withoutComments(blocks []docs.Block) []docs.Block {
	var out []docs.Block
	for _, block := range blocks {
		if block.Language != "" {
			block.Text = comment.ReplaceAllString(block.Text, "")
		}
		out = append(out, block)
	}
	return out
}

func levels(content docs.Content) []int {
	var out []int
	for _, heading := range content.Headings {
		out = append(out, heading.Level)
	}
	return out
}

// rows returns the number of cells of each row of a table, in order.
func rows(page docs.Page) []int {
	var out []int
	for line := range strings.Lines(page.Text) {
		if strings.HasPrefix(line, "|") {
			out = append(out, strings.Count(line, "|")-1)
		}
	}
	return out
}
