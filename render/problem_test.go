package render

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// The awful repository has a problem of nearly every kind; the golden file
// shows how they read together.
func TestProblemsOfAnAwfulRepository(t *testing.T) {
	_, err := Load(os.DirFS("testdata/awful"))
	golden(t, "awful.golden", listing(problemsOf(t, err)))
}

// problemsOf returns the problems in an error of Load.
func problemsOf(t testing.TB, err error) Problems {
	t.Helper()
	if err == nil {
		return nil
	}
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatalf("Load returns %T, and not Problems: %v", err, err)
	}
	return problems
}

func listing(problems Problems) string {
	var text strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&text, "%s:%d:%d: %s\n", p.File, p.Line, p.Column, p.Message)
		if p.Hint != "" {
			fmt.Fprintf(&text, "    %s\n", p.Hint)
		}
	}
	return text.String()
}

func TestPrintable(t *testing.T) {
	cases := map[string]struct {
		reason   string
		text     string
		most     int
		expected string
	}{
		"plain":    {"most texts pass as they are", `it's "so" \n`, 20, `it's "so" \n`},
		"control":  {"a terminal would obey", "a\x1b[2Jb\nc", 20, `a\x1b[2Jb\nc`},
		"bidi":     {"text could be shown in another order", "a\u202eb", 20, `a\u202eb`},
		"invalid":  {"not UTF-8, such as a file name may be", "a\xffb", 20, `a\xffb`},
		"replaced": {"the replacement character itself is no error", "a\uFFFDb", 20, "a\uFFFDb"},
		"long":     {"bounded in characters, and never within one", strings.Repeat("é", 30), 20, strings.Repeat("é", 20) + "…"},
		"fits":     {"as long as allowed", strings.Repeat("é", 20), 20, strings.Repeat("é", 20)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.expected, printable(c.text, c.most)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// mustBeSafe checks what must hold for the problems of any input.
func mustBeSafe(t testing.TB, problems Problems) {
	t.Helper()
	if len(problems) > maxProblems+1 {
		t.Errorf("%d problems are more than can be of use", len(problems))
	}
	for _, p := range problems {
		for what, text := range map[string]string{"file": p.File, "pool": p.Pool, "message": p.Message, "hint": p.Hint, "line": p.String()} {
			if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || !unicode.IsPrint(r) }) {
				t.Errorf("the %s holds what cannot be printed: %q", what, text)
			}
			if len(text) > 10*(maxFileName+maxText) {
				t.Errorf("the %s has %d bytes", what, len(text))
			}
		}
		if p.Message == "" || unicode.IsUpper([]rune(p.Message)[0]) {
			t.Errorf("a message begins in lower case: %q", p.Message)
		}
		if p.Line < 0 || p.Column < 0 || (p.Line == 0) != (p.Column == 0) {
			t.Errorf("not a position: %d:%d: %s", p.Line, p.Column, p.Message)
		}
	}
}

func TestProblemsIn(t *testing.T) {
	problem := Problem{File: "a.yaml", Line: 1, Message: "is wrong"}
	cases := map[string]struct {
		reason   string
		problems Problems
		want     string
	}{
		"one":     {"there is one", Problems{problem}, "1 problem in pools"},
		"two":     {"there are two", Problems{problem, problem}, "2 problems in pools"},
		"omitted": {"those that are left out count", Problems{problem, {Omitted: 5}}, "6 problems in pools"},
	}
	for name, c := range cases {
		err := c.problems.In("pools")
		if err.Error() != c.want {
			t.Errorf("%s: %s, want %s: %s", name, err, c.want, c.reason)
		}
		if found := (Problems)(nil); !errors.As(err, &found) || len(found) != len(c.problems) {
			t.Errorf("%s: the problems are %v", name, found)
		}
	}
}
