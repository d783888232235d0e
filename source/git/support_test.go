package git

import (
	"context"
	"io"
	"log"
	"testing"
	"time"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/leaks"
)

// leakTime is how long what has ended may take to be gone.
const leakTime = 10 * time.Second

var quiet = log.New(io.Discard, "", 0)

func copyTo(in io.WriteCloser, from io.Reader) (int64, error) {
	defer in.Close()
	return io.Copy(in, from)
}

// head and fetch are for what has to work.
func head(t testing.TB, g *Repository) string {
	t.Helper()
	revision, err := g.Head(t.Context())
	if err != nil {
		t.Fatalf("Head: %v", err)
	}
	return revision
}

func fetch(t testing.TB, g *Repository, revision string) *source.Snapshot {
	t.Helper()
	snapshot, err := g.Fetch(t.Context(), revision)
	if err != nil {
		t.Fatalf("Fetch: %v", err)
	}
	if snapshot.Revision != revision {
		t.Fatalf("Fetch(%s) gave the revision %s", revision, snapshot.Revision)
	}
	return snapshot
}

// newCache is a cache that is discarded with the test.
func newCache(t testing.TB) *Cache {
	caches := NewCaches()
	t.Cleanup(caches.Close)
	return caches.Of("repository", "1")
}

// both is what a controller does.
func both(ctx context.Context, g *Repository) (*source.Snapshot, error) {
	revision, err := g.Head(ctx)
	if err != nil {
		return nil, err
	}
	return g.Fetch(ctx, revision)
}

// wantNoLeak runs f, and fails if goroutines, open files, processes or temporary
// files are left.
func wantNoLeak(t *testing.T, f func()) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	before := leaks.Now(t)
	f()
	before.Check(t, leakTime)
}
