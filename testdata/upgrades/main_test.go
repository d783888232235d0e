package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nodepools/nodepools/testdata/cluster"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	cluster.Main(m, cluster.Options{Audit: true})
}

// only137 is a commit whose definition of pools no API server before 1.37 takes, as a rule of
// it costs too much there: no such cluster can have been left by it.
const only137 = "5a9c027"

// A cluster that a program of an earlier commit has left is taken up by the present one
// without a write of a node; changes are followed, what others have set stays, and nodes are
// in the end what they were before there was a pool.
func TestUpgrade(t *testing.T) {
	c := cluster.Shared(t)
	program := filepath.Join(t.TempDir(), "nodepools")
	if err := build(t.Context(), "../..", program); err != nil {
		t.Fatal(err)
	}
	present, err := versionOf(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	folders, err := os.ReadDir("left")
	if err != nil {
		t.Fatal(err)
	}
	before137, err := c.Before(1, 37)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[int]bool{}
	for _, folder := range folders {
		if before137 && folder.Name() == only137 {
			continue
		}
		t.Run(folder.Name(), func(t *testing.T) {
			w, err := newWorld(c, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			r := &run{world: w, present: present}
			defer func() {
				if err := errors.Join(r.stop(), r.clear(t.Context())); err != nil {
					t.Error(err)
				}
			}()
			if err := r.load(t.Context(), filepath.Join("left", folder.Name())); err != nil {
				t.Fatal(err)
			}
			if err := r.fromLeft(t.Context()); err != nil {
				t.Error(err)
			}
			for _, version := range r.left {
				versions[version] = true
			}
		})
	}
	for version := 1; version <= 3; version++ {
		if !versions[version] {
			t.Errorf("no program has left a record of version %d", version)
		}
	}
}
