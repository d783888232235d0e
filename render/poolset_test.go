package render

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

func TestLoadProblemsAmongPools(t *testing.T) {
	child := func(name, parent string) string { return named(name, "spec:\n  parent: "+parent+"\n") }
	cases := map[string]struct {
		reason string
		files  fs.FS
		want   []string
	}{
		"name twice": {
			"at both places, each naming the other",
			tree("a.yaml", named("p", ""), "b/c.yml", "# second\n"+named("p", "")),
			[]string{
				`a.yaml:4:3: pool "p": the name is taken: it is defined in b/c.yml:5 too (give each pool`,
				`b/c.yml:5:3: pool "p": the name is taken: it is defined in a.yaml:4 too (give each pool`,
			},
		},
		"name twice in a file": {
			"files do not matter",
			tree("p.yaml", named("p", "---\n")+named("p", "")),
			[]string{`4:3: pool "p": the name is taken: it is defined in p.yaml:9`, `9:3: pool "p": the name is taken: it is defined in p.yaml:4`},
		},
		"name five times": {
			"bounded",
			tree("p.yaml", strings.Repeat(named("p", "---\n"), 5)),
			[]string{
				`4:3: pool "p": the name is taken: it is defined in p.yaml:9, p.yaml:14, p.yaml:19 and 1 more too`,
				`9:3: pool "p": the name is taken: it is defined in p.yaml:4, p.yaml:14, p.yaml:19 and 1 more too`,
				`14:3: pool "p": the name is taken: it is defined in p.yaml:4, p.yaml:9, p.yaml:19 and 1 more too`,
				`19:3: pool "p": the name is taken: it is defined in p.yaml:4, p.yaml:9, p.yaml:14 and 1 more too`,
				`24:3: pool "p": the name is taken: it is defined in p.yaml:4, p.yaml:9, p.yaml:14 and 1 more too`,
			},
		},
		"name in another case": {
			"names are compared exactly; the other is refused for itself",
			tree("p.yaml", named("p", "---\n")+named("P", "")),
			[]string{`9:3: pool "P": metadata.name: "P" is not valid`},
		},
		"name twice beside other problems": {
			"a name counts even when the rest of the pool is at fault, or another file",
			tree("a.yaml", named("p", "foo: 1\n"), "b.yaml", named("p", ""), "c.yaml", "a: ["),
			[]string{
				`a.yaml:4:3: pool "p": the name is taken`,
				`a.yaml:5:1: pool "p": unknown field`,
				`b.yaml:4:3: pool "p": the name is taken`,
				`c.yaml:1:1: this is not YAML`,
			},
		},
		"missing parent": {
			"at every pool that leads to it",
			tree("a.yaml", child("a", "b"), "b.yaml", child("b", "gone")),
			[]string{
				`a.yaml:6:3: pool "a": spec.parent: the pool "b" is within "gone", which does not exist`,
				`b.yaml:6:3: pool "b": spec.parent: there is no pool "gone"`,
			},
		},
		"mistyped parent": {
			"the name is nearly there",
			tree("p.yaml", child("child", "paernt")+"---\n"+named("parent", "")),
			[]string{`6:3: pool "child": spec.parent: there is no pool "paernt" (did you mean "parent"?)`},
		},
		"parent in a bad file": {
			"the parent may well be in what could not be parsed",
			tree("a.yaml", child("a", "b"), "b.yaml", "a: [", "c.yaml", child("x", "gone")),
			[]string{`b.yaml:1:1: this is not YAML`},
		},
		"parent of a bad kind": {
			"same",
			tree("a.yaml", child("a", "b"), "b.yaml", strings.Replace(named("b", ""), "NodePool", "Nodepool", 1)),
			[]string{`b.yaml:2:1: kind is "Nodepool"`},
		},
		"parent with a problem": {
			"it is there all the same",
			tree("a.yaml", child("a", "b"), "b.yaml", named("b", "foo: 1\n")),
			[]string{`b.yaml:5:1: pool "b": unknown field`},
		},
		"cycle": {
			"at every pool on it, and at those that lead into it",
			tree("p.yaml", child("a", "b")+"---\n"+child("b", "c")+"---\n"+child("c", "b")+"---\n"+named("d", "")),
			[]string{
				`6:3: pool "a": spec.parent: the pool is within "b", which encloses itself: b -> c -> b`,
				`13:3: pool "b": spec.parent: the pool encloses itself: b -> c -> b (take the parent out`,
				`20:3: pool "c": spec.parent: the pool encloses itself: c -> b -> c`,
			},
		},
		"too deep": {
			"bounded, from the first that is too deep on",
			tree("p.yaml", chain(MaxAncestors+3)),
			[]string{
				`235:3: pool "p33": spec.parent: more than 32 pools enclose it`,
				`242:3: pool "p34": spec.parent: more than 32 pools enclose it`,
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Load(c.files)
			problems := problemsOf(t, err)
			mustBeSafe(t, problems)
			matchProblems(t, c.reason, problems, c.want)
		})
	}
}

// chain returns so many pools, each within the one before.
func chain(pools int) string {
	var text strings.Builder
	text.WriteString(named("p0", ""))
	for i := 1; i < pools; i++ {
		text.WriteString("---\n" + named(fmt.Sprintf("p%d", i), fmt.Sprintf("spec:\n  parent: p%d\n", i-1)))
	}
	return text.String()
}
