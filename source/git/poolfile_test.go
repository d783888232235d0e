package git

import (
	"testing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/poolfile"
	"github.com/nodepools/nodepools/testdata/sources"
)

var fetching = map[string]sources.Reading{
	"fetch": func(t *testing.T, r *sources.Repo, of poolfile.Limits) (*source.Snapshot, error) {
		small := defaultLimits()
		small.Limits = of
		return both(t.Context(), &Repository{URL: r.URL(), Path: "pools", limits: &small})
	},
}

func TestWhatIsNoPoolFileIsNotRead(t *testing.T) { sources.TestHarmlessFiles(t, fetching) }

func TestWhatCouldHidePoolsIsRefused(t *testing.T) { sources.TestHiddenPools(t, fetching) }

func TestNamesAreBounded(t *testing.T) { sources.TestBoundedNames(t, fetching, nil) }
