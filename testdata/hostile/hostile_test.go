package hostile

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStrings(t *testing.T) {
	names, texts := map[string]bool{}, map[string]bool{}
	for _, s := range Strings() {
		if s.Name == "" || names[s.Name] || texts[s.Text] {
			t.Errorf("%q is there twice, or has no name", s.Name)
		}
		names[s.Name], texts[s.Text] = true, true
	}
	if diff := cmp.Diff(Strings(), Strings()); diff != "" {
		t.Error("the order changes:", diff)
	}
}

func TestAny(t *testing.T) {
	first := Any(rand.New(rand.NewPCG(1, 2)), 8)
	if again := Any(rand.New(rand.NewPCG(1, 2)), 8); first != again || first == "" {
		t.Errorf("the same source of chance makes %q and %q", first, again)
	}
}

func TestFill(t *testing.T) {
	type named string
	type world struct {
		Name    string
		Kind    named
		Pointer *string
		None    *string
		List    []string
		Empty   []string
		Any     any
		Map     map[string]any
		Inner   []struct{ Name string }
		Count   int
	}
	pointed := "b"
	got := world{
		Name: "a", Kind: "kind", Pointer: &pointed, List: []string{"c"}, Any: "d",
		Map:   map[string]any{"k": "v", "n": map[string]any{"l": []any{"x", 1, nil}}},
		Inner: []struct{ Name string }{{"e"}}, Count: 3,
	}
	Fill(&got, func(was string) string { return was + "!" })
	filled := "b!"
	want := world{
		Name: "a!", Kind: "kind", Pointer: &filled, List: []string{"c!"}, Any: "d!",
		Map:   map[string]any{"k!": "v!", "n!": map[string]any{"l!": []any{"x!", 1, nil}}},
		Inner: []struct{ Name string }{{"e!"}}, Count: 3,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCommands(t *testing.T) {
	for text, want := range map[string]int{
		"a::b, ## [x], #[x], ##x, node::x":                0,
		"::error::x":                                      1,
		"a\n  ::error::x\r::x":                            2,
		"a ##[group]x ##vso[x] ##VSO[x] ##teamcity[x '']": 4,
		"a\u2028::x\u0085\u00a0::x":                       2,
	} {
		if got := Commands(text); len(got) != want {
			t.Errorf("%q: %d commands, want %d: %q", text, len(got), want, got)
		}
	}
}

func TestHidden(t *testing.T) {
	for text, want := range map[string]int{
		"plain, and a line\nof its own, größer, 池, 😀":   0,
		"a replacement character \ufffd":                0,
		"\x1b[31m":                                      1,
		"\u202e \u200b \u00a0 \u3164 \r \t":             6,
		"\xff\xfe":                                      2,
		"a\u034f\ufe0f\U000e0101\u17b4\u180b\U0001d159": 6,
	} {
		if got := Hidden(text); len(got) != want {
			t.Errorf("%q: %d hidden characters, want %d: %q", text, len(got), want, got)
		}
	}
}
