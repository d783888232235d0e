package cluster

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

func TestAbandonedFoldersAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	used, release, err := newFolder()
	if err != nil {
		t.Fatal(err)
	}
	abandoned, abandon, err := newFolder()
	if err != nil {
		t.Fatal(err)
	}
	if err := abandon(); err != nil {
		t.Fatal(err)
	}
	if err := removeAbandoned(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(used); err != nil {
		t.Errorf("the folder of a cluster that runs: %v", err)
	}
	if _, err := os.Stat(abandoned); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of a cluster that was killed: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
}
