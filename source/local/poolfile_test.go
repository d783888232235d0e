package local

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/poolfile"
	"github.com/nodepools/nodepools/testdata/sources"
)

var (
	commits = map[string]sources.Reading{
		"revision": func(t *testing.T, r *sources.Repo, limits poolfile.Limits) (*source.Snapshot, error) {
			opened := open(t, r.Dir)
			opened.limits = limits
			return opened.Snapshot(t.Context(), "sha1:"+r.Git("rev-parse", "HEAD"), "pools")
		},
	}
	folders = map[string]sources.Reading{
		"working tree": func(t *testing.T, r *sources.Repo, limits poolfile.Limits) (*source.Snapshot, error) {
			opened := open(t, r.Dir)
			opened.limits = limits
			return opened.WorkTree(t.Context(), "pools")
		},
		"checkout": func(_ *testing.T, r *sources.Repo, limits poolfile.Limits) (*source.Snapshot, error) {
			return checkout(filepath.Join(r.Dir, "pools"), limits)
		},
		"folder": func(_ *testing.T, r *sources.Repo, limits poolfile.Limits) (*source.Snapshot, error) {
			return directory(filepath.Join(r.Dir, "pools"), limits)
		},
	}
)

// allReadings are all the ways in which a folder of this machine is read.
func allReadings() map[string]sources.Reading {
	all := maps.Clone(commits)
	maps.Copy(all, folders)
	return all
}

func TestWhatIsNoPoolFileIsNotRead(t *testing.T) { sources.TestHarmlessFiles(t, allReadings()) }

func TestWhatCouldHidePoolsIsRefused(t *testing.T) { sources.TestHiddenPools(t, allReadings()) }

func TestNamesAreBounded(t *testing.T) { sources.TestBoundedNames(t, commits, folders) }

// A clone without the contents of files reads what it has.
func TestPartialCloneOfOtherFiles(t *testing.T) {
	r := sources.NewRepo(t)
	r.Git("config", "uploadpack.allowFilter", "true")
	commit := r.Commit(map[string]string{"pools/a.yaml": "a", "pools/logo.png": sources.Noise(5000), "pools/LINK.md": "-> logo.png", "pools/.hidden/b.yaml": sources.Noise(5000)})
	clone := r.Clone(t, "--filter=blob:limit=1k", "--no-checkout")
	snapshot, err := open(t, clone.Dir).Snapshot(t.Context(), "sha1:"+commit, "pools")
	if err != nil {
		t.Fatal(err)
	}
	sources.WantFiles(t, snapshot, map[string]string{"a.yaml": "a"})
}

// Where a link leads is in its blob. A clone without that cannot tell.
func TestPartialCloneOfALink(t *testing.T) {
	r := sources.NewRepo(t)
	r.Git("config", "uploadpack.allowFilter", "true")
	commit := r.Commit(map[string]string{"pools/README": "-> ../README.md", "README.md": "read"})
	clone := r.Clone(t, "--filter=blob:none", "--no-checkout")
	_, err := open(t, clone.Dir).Snapshot(t.Context(), "sha1:"+commit, "pools")
	sources.WantError(t, err, source.ErrIncomplete)
}
