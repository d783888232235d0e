package source

import (
	"fmt"
	"strings"
	"testing"
)

// deltas is a repository whose pack stores nearly everything as a difference to
// something else, in long chains.
func deltas(t testing.TB) (*repo, map[string]string) {
	r := newRepo(t)
	files := map[string]string{}
	line := noise(2000)
	for i := range 200 {
		files[fmt.Sprintf("%03d.yaml", i)] = fmt.Sprintf("%d\n%s\n%s", i, line, strings.Repeat("x", i))
	}
	r.commit(files)
	r.git("repack", "-adfq", "--depth=100", "--window=50")
	return r, files
}

func TestPackDeltas(t *testing.T) {
	r, files := deltas(t)
	everywhere(t, r, func(t *testing.T, g Git) {
		wantFiles(t, fetch(t, &g, head(t, &g)), files)
	})
}

func TestPackTooLarge(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"a.yaml": noise(200_000)})
	small := defaultLimits()
	small.packBytes = 100_000
	everywhere(t, r, func(t *testing.T, g Git) {
		g.limits = &small
		_, err := g.Fetch(t.Context(), head(t, &g))
		wantError(t, err, ErrTooLarge)
	})
}

// A pack of objects that have next to no bytes takes memory all the same.
func TestPackOfTooManyObjects(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"a.yaml": "a", "b.yaml": "b"})
	small := defaultLimits()
	small.packObjects = 3 // a commit and a folder beside the files
	everywhere(t, r, func(t *testing.T, g Git) {
		g.limits = &small
		_, err := g.Fetch(t.Context(), head(t, &g))
		wantError(t, err, ErrTooLarge)
	})
}

// A large file that nobody asks for costs no memory and is no error.
func TestPackLargeFileElsewhere(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"pools/a.yaml": "a", "pools/logo.png": strings.Repeat("a", maxObjectBytes+1), "big.yaml": strings.Repeat("a", maxObjectBytes+2)})
	g := &Git{URL: r.fileURL(), Path: "pools"}
	wantFiles(t, fetch(t, g, head(t, g)), map[string]string{"a.yaml": "a"})
	g.Path = ""
	_, err := g.Fetch(t.Context(), head(t, g))
	wantError(t, err, ErrTooLarge)
}

func TestPackNoRoom(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"a.yaml": "a"})
	g := &Git{URL: r.fileURL(), TempDir: t.TempDir() + "/nope"}
	_, err := g.Fetch(t.Context(), head(t, g))
	wantError(t, err, ErrTemporary)
}

// A delta says how large its result is before it is applied.
func TestFits(t *testing.T) {
	for name, c := range map[string]struct {
		delta []byte
		want  bool
	}{
		"small":     {[]byte{5, 10}, true},
		"large":     {[]byte{5, 0x80, 0x80, 0x80, 0x80, 1}, false},
		"no end":    {[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, false},
		"cut short": {[]byte{0x80}, true},
	} {
		if got := fits(c.delta); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
