package git

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
	"github.com/nodepools/nodepools/testdata/sources"
)

// deltas is a repository whose pack stores nearly everything as a difference to
// something else, in long chains.
func deltas(t testing.TB) (*sources.Repo, map[string]string) {
	r := sources.NewRepo(t)
	files := map[string]string{}
	line := sources.Noise(2000)
	for i := range 200 {
		files[fmt.Sprintf("%03d.yaml", i)] = fmt.Sprintf("%d\n%s\n%s", i, line, strings.Repeat("x", i))
	}
	r.Commit(files)
	r.Git("repack", "-adfq", "--depth=100", "--window=50")
	return r, files
}

func TestPackDeltas(t *testing.T) {
	r, files := deltas(t)
	everywhere(t, r, func(t *testing.T, g Repository) {
		sources.WantFiles(t, fetch(t, &g, head(t, &g)), files)
	})
}

func TestPackTooLarge(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": sources.Noise(200_000)})
	small := defaultLimits()
	small.packBytes = 100_000
	everywhere(t, r, func(t *testing.T, g Repository) {
		g.limits = &small
		_, err := g.Fetch(t.Context(), head(t, &g))
		sources.WantError(t, err, source.ErrTooLarge)
	})
}

// A pack of objects that have next to no bytes takes memory all the same.
func TestPackOfTooManyObjects(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a", "b.yaml": "b"})
	small := defaultLimits()
	small.packObjects = 3 // a commit and a folder beside the files
	everywhere(t, r, func(t *testing.T, g Repository) {
		g.limits = &small
		_, err := g.Fetch(t.Context(), head(t, &g))
		sources.WantError(t, err, source.ErrTooLarge)
	})
}

// A large file that nobody asks for costs no memory and is no error.
func TestPackLargeFileElsewhere(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"pools/a.yaml": "a", "pools/logo.png": strings.Repeat("a", object.MaxBytes+1), "big.yaml": strings.Repeat("a", object.MaxBytes+2)})
	g := &Repository{URL: r.URL(), Path: "pools"}
	sources.WantFiles(t, fetch(t, g, head(t, g)), map[string]string{"a.yaml": "a"})
	g.Path = ""
	_, err := g.Fetch(t.Context(), head(t, g))
	sources.WantError(t, err, source.ErrTooLarge)
}

func TestPackNoRoom(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	g := &Repository{URL: r.URL(), TempDir: t.TempDir() + "/nope"}
	_, err := g.Fetch(t.Context(), head(t, g))
	sources.WantError(t, err, source.ErrTemporary)
}
