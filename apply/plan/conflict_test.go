package plan

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"
)

func TestConflictString(t *testing.T) {
	cases := map[string]struct {
		reason   string
		conflict Conflict
		want     string
	}{
		"somebody else": {
			"what stands there, and what is wanted",
			Conflict{Field: Label, Key: "k", Pool: "a", Want: "1", Have: ptr.To("9")},
			`label k stays "9": somebody else has set it; pool a wants "1"`,
		},
		"somebody by name": {
			"whom to ask",
			Conflict{Field: Label, Key: "k", Pool: "a", Want: "1", Have: ptr.To("9"), SetBy: []string{"kubectl-label"}},
			`label k stays "9": kubectl-label has set it; pool a wants "1"`,
		},
		"several by name": {
			"all that hold the value",
			Conflict{Field: Annotation, Key: "k", Pool: "a", Want: "1", Have: ptr.To("9"), SetBy: []string{"argo", "kubelet"}},
			`annotation k stays "9": argo and kubelet have set it; pool a wants "1"`,
		},
		"very many by name": {
			"a text is bounded",
			Conflict{Field: Label, Key: "k", Pool: "a", Want: "1", Have: ptr.To("9"), SetBy: []string{"a", "b", "c"}, MoreSetBy: 7},
			`label k stays "9": a, b, c and 7 more have set it; pool a wants "1"`,
		},
		"taints": {
			"the list has one owner, who need not have put this taint there",
			Conflict{Field: Taint, Key: "k:NoSchedule", Pool: "a", Want: "1", Have: ptr.To("9"), SetBy: []string{"kubectl-taint"}},
			`taint k:NoSchedule stays "9": somebody else has set it (kubectl-taint wrote the taints last); pool a wants "1"`,
		},
		"a name that is none": {
			"anybody can choose any: it is quoted and cut, and cannot pass for our words",
			Conflict{Field: Label, Key: "k", Pool: "a", Want: "1", Have: ptr.To("9"), SetBy: []string{"\x1b[2Jx", "pool b has it; a", strings.Repeat("n", 128)}},
			`label k stays "9": "\x1b[2Jx", "pool b has it; a" and "` + strings.Repeat("n", 62) + `…" have set it; pool a wants "1"`,
		},
		"an older pool": {
			"whose the key is, and why",
			Conflict{Field: Taint, Key: "k:NoSchedule", Pool: "a", Want: "1", Have: ptr.To("2"), Older: "b"},
			`taint k:NoSchedule stays "2", which is pool b's: of pools of equal priority the older one wins; pool a wants "1"`,
		},
		"no room": {
			"what the limit is",
			Conflict{Field: Annotation, Key: "k", Pool: "a", Want: "1", NoRoom: true},
			`annotation k stays unset: it does not fit into the 104 KiB that pools may take of the annotations of a node; pool a wants "1"`,
		},
		"a holder": {
			"somebody has to resume or mend it",
			Conflict{Field: Label, Key: "k", Pool: "a", Want: "1", Have: ptr.To("9"), Holder: "p"},
			`label k stays "9": pool p, which has set it, is paused or in error; pool a wants "1"`,
		},
		"any text": {
			"annotations may hold anything: it is quoted and cut",
			Conflict{Field: Annotation, Key: "k", Pool: "a", Want: strings.Repeat("é", 64), Have: ptr.To("a\nb\x1b[0m")},
			`annotation k stays "a\nb\x1b[0m": somebody else has set it; pool a wants "` + strings.Repeat("é", 62) + `…"`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.conflict.String(); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.reason, got, c.want)
			}
		})
	}
}
