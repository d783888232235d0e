package source

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/testdata/leaks"
)

var quiet = log.New(io.Discard, "", 0)

func copyTo(in io.WriteCloser, from io.Reader) (int64, error) {
	defer in.Close()
	return io.Copy(in, from)
}

// head and fetch are for what has to work.
func head(t testing.TB, g *Git) string {
	t.Helper()
	revision, err := g.Head(t.Context())
	if err != nil {
		t.Fatalf("Head: %v", err)
	}
	return revision
}

func fetch(t testing.TB, g *Git, revision string) *Snapshot {
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

// both is what a controller does.
func both(ctx context.Context, g *Git) (*Snapshot, error) {
	revision, err := g.Head(ctx)
	if err != nil {
		return nil, err
	}
	return g.Fetch(ctx, revision)
}

// contents reads all files of a snapshot.
func contents(t testing.TB, files fs.FS) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func wantFiles(t testing.TB, s *Snapshot, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, contents(t, s.Files)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// wantError checks the kind, and what holds for every error of this package.
func wantError(t testing.TB, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error is %v (%s), want %v", err, Reason(err), kind)
	}
	var ours *Error
	if !errors.As(err, &ours) {
		t.Fatalf("%T is not an *Error", err)
	}
	for _, text := range []string{err.Error(), Hint(err)} {
		if len(text) > MaxErrorLength || printable(text) != text {
			t.Errorf("%q is too long or not one plain line", text)
		}
	}
}

// noise is what no compression makes smaller, the same in each run.
func noise(size int) string {
	random := rand.NewChaCha8([32]byte{1})
	var b strings.Builder
	for b.Len() < size {
		b.WriteByte(byte(random.Uint64()))
	}
	return b.String()
}

// wantNoLeak runs f, and fails if goroutines, open files, processes or temporary
// files are left.
func wantNoLeak(t *testing.T, f func()) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	before := leaks.Now(t)
	f()
	before.Check(t, 10*time.Second)
}

// pipe makes a named pipe that nobody writes to.
func pipe(t testing.TB, name string) {
	t.Helper()
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(name, 0o644); err != nil {
		t.Skip(err)
	}
}
